#!/usr/bin/env python3
"""Speaks each line of `texts.tsv` with espeak-ng and writes when each word begins, as JSON lines.

    apt-get install espeak-ng
    tests/heard/synthesize.py tests/heard/texts.tsv > tests/heard/spoken.jsonl

A line of the input is a language, a tab and a text. espeak-ng cannot read Chinese characters in Japanese. There, `|`
separates the words of the text, and a third column has their readings, separated by spaces. A line of the output has
`language`, `text`, `total_ms`, and `words`: pairs of a time in milliseconds and an offset in characters of the text. The
silence at the end is left out.
"""

import ctypes
import ctypes.util
import json
import sys

VOICES = {"zh": "cmn", "en": "en-us"}
SYNCHRONOUS, CHARS_UTF8, EVENT_WORD, EVENT_END = 2, 1, 1, 5
SILENCE = 200  # the amplitude below which a sample counts as silent


class Event(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", ctypes.c_char * 8),
    ]


CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(Event)
)


class Speaker:
    def __init__(self):
        name = ctypes.util.find_library("espeak-ng") or "libespeak-ng.so.1"
        try:
            self.library = ctypes.CDLL(name)
        except OSError as error:
            sys.exit(f"{error}; install the package espeak-ng")
        self.rate = self.library.espeak_Initialize(SYNCHRONOUS, 0, None, 0)
        if self.rate <= 0:
            sys.exit("espeak-ng cannot be initialized; install the package espeak-ng")
        self.callback = CALLBACK(self.receive)
        self.library.espeak_SetSynthCallback(self.callback)

    def receive(self, samples, count, events):
        at = 0
        while events[at].type != 0:
            if events[at].type == EVENT_WORD:
                self.words.append((events[at].audio_position, events[at].text_position - 1))
            at += 1
        if samples and count > 0:
            chunk = samples[:count]
            loud = [index for index, sample in enumerate(chunk) if abs(sample) > SILENCE]
            if loud:
                self.loud = self.samples + loud[-1]
            self.samples += count
        return 0

    def speak(self, language, text, rate=None):
        self.words, self.samples, self.loud = [], 0, 0
        voice = VOICES.get(language, language)
        if self.library.espeak_SetVoiceByName(voice.encode()) != 0:
            sys.exit(f"espeak-ng has no voice {voice}")
        self.library.espeak_SetParameter(1, rate or 175, 0)
        data = text.encode()
        self.library.espeak_Synth(data, len(data) + 1, 0, 1, 0, CHARS_UTF8, None, None)
        self.library.espeak_Synchronize()
        words = [[start, at] for start, at in self.words if 0 <= at < len(text)]
        return {"language": language, "text": text, "total_ms": self.loud * 1000 // self.rate, "words": words}


def with_reading(speaker, language, text, reading):
    """Speaks the reading, and returns the times of the words of the text."""
    spoken = speaker.speak(language, reading)
    starts = {}
    for start, at in spoken["words"]:
        starts.setdefault(reading[: at + 1].count(" "), start)
    offset, words = 0, []
    for index, word in enumerate(text.split("|")):
        if index in starts:
            words.append([starts[index], offset])
        offset += len(word)
    return {**spoken, "text": text.replace("|", ""), "words": words}


def main():
    speaker = Speaker()
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                language, text, *reading = line.rstrip("\n").split("\t")
                if reading:
                    spoken = with_reading(speaker, language, text, *reading)
                else:
                    spoken = speaker.speak(language, text)
                print(json.dumps(spoken, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
