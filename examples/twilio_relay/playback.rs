//! [`Playback`]: what Twilio has played, from the events of a session.
//!
//! Reports it to the call. `interrupt` has the words that were played; `tokensPlayed` and `agentSpeaking` show that a speech
//! was played to its end. Twilio does not document the last two, so a session without them works too: the caller's next
//! words end the speech.

use verbale::call::{CallSession, Played, SpeechId};

/// The playback of one session.
#[derive(Default)]
pub struct Playback {
    now: Option<Playing>,
    agent_speaks: bool,
    /// Whether the session has events of speakers, or of played words.
    has_speakers: bool,
    has_words: bool,
}

/// A speech that Twilio got and that was not played to its end, as far as the program knows.
struct Playing {
    speech: SpeechId,
    /// The words that Twilio got, and those that it has played.
    sent: String,
    played: String,
    /// Whether all words were sent.
    is_complete: bool,
    is_started: bool,
    /// Whether the assistant ceased to be audible since the last words were sent.
    is_quiet: bool,
}

impl Playback {
    /// Starts a speech. The one before is no longer played.
    pub fn begin(&mut self, speech: SpeechId) {
        let (sent, played) = (String::new(), String::new());
        self.now = Some(Playing { speech, sent, played, is_complete: false, is_started: false, is_quiet: false });
    }

    /// Returns whether a speech is being sent or played.
    pub fn is_busy(&self) -> bool {
        self.now.is_some()
    }

    /// Notes words that were sent.
    pub fn sent(&mut self, words: &str) {
        if let Some(now) = &mut self.now {
            now.sent.push_str(words);
            now.is_quiet = false;
        }
    }

    /// Notes that the speech has no more words. They may be played already.
    pub fn complete(&mut self, call: &CallSession) {
        if let Some(now) = &mut self.now {
            now.is_complete = true;
        }
        self.finish_if_played(call);
    }

    /// Notes that the assistant began or ceased to be audible.
    pub fn agent_speaks(&mut self, is_speaking: bool, call: &CallSession) {
        (self.agent_speaks, self.has_speakers) = (is_speaking, true);
        if is_speaking {
            self.start(call);
        } else if let Some(now) = &mut self.now {
            now.is_quiet = true;
        }
        self.finish_if_played(call);
    }

    /// Notes words that were played.
    pub fn played(&mut self, words: &str, call: &CallSession) {
        self.has_words = true;
        self.start(call);
        if let Some(now) = &mut self.now {
            now.played.push_str(words);
            now.played.push(' ');
        }
        self.finish_if_played(call);
    }

    /// Reports that the caller interrupted the speech after these words and this time.
    pub fn interrupted(&mut self, words: &str, played_ms: Option<u64>, call: &CallSession) {
        let now_ms = call.now_ms();
        call.caller_started_speaking(now_ms);
        if let Some(now) = self.now.take() {
            call.playback_interrupted(now.speech, now.heard(words, played_ms), now_ms);
        }
    }

    /// Reports that the speech was played, before words of the caller that did not interrupt it.
    ///
    /// A speech that never began, or whose reply still runs, stays open: the words are a barge-in then.
    pub fn end_before_words(&mut self, call: &CallSession) {
        let has_events = self.has_speakers || self.has_words;
        if let Some(now) = self.now.take_if(|now| now.is_complete && (now.is_started || !has_events)) {
            call.playback_finished(now.speech, call.now_ms());
        }
    }

    /// Reports that the connection was lost. Nothing more is played.
    pub fn lost(&mut self, call: &CallSession) {
        if let Some(now) = self.now.take() {
            let played = if self.has_words { Played::Words(now.played) } else { Played::Unknown };
            call.playback_interrupted(now.speech, played, call.now_ms());
        }
    }

    fn start(&mut self, call: &CallSession) {
        if let Some(now) = &mut self.now
            && !std::mem::replace(&mut now.is_started, true)
        {
            call.playback_started(now.speech, call.now_ms());
        }
    }

    fn finish_if_played(&mut self, call: &CallSession) {
        let (has_words, agent_speaks) = (self.has_words, self.agent_speaks);
        let is_played = |now: &mut Playing| {
            now.is_complete && if has_words { !agent_speaks && now.has_played_all() } else { now.is_quiet }
        };
        if let Some(now) = self.now.take_if(is_played) {
            call.playback_finished(now.speech, call.now_ms());
        }
    }
}

impl Playing {
    /// Returns whether as many letters and digits were played as sent. White space and punctuation may differ.
    fn has_played_all(&self) -> bool {
        letters(&self.played) >= letters(&self.sent)
    }

    /// Returns what was heard of an interrupted speech.
    ///
    /// Twilio's words may begin in the middle of the speech, because Twilio plays it in pieces. The session needs them from
    /// the beginning.
    fn heard(&self, words: &str, played_ms: Option<u64>) -> Played {
        let words = words.trim();
        if words.is_empty() {
            return match played_ms {
                Some(played_ms) if self.played.is_empty() => Played::For { played_ms, total_ms: None },
                _ => Played::Words(self.played.clone()),
            };
        }
        // The same words may come twice in a speech. They end after those that were played before.
        let ends = self.sent.match_indices(words).map(|(start, _)| start + words.len());
        let heard = |end: &usize| self.sent.get(..*end).map_or(0, letters);
        let end = ends.clone().find(|end| heard(end) >= letters(&self.played)).or_else(|| ends.last());
        match end.and_then(|end| self.sent.get(..end)) {
            Some(heard) => Played::Words(heard.to_owned()),
            None if self.played.len() > words.len() => Played::Words(self.played.clone()),
            None => Played::Words(words.to_owned()),
        }
    }
}

fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}

#[cfg(test)]
mod tests {
    use aws_sdk_bedrockruntime::Client;
    use verbale::bedrock::{BedrockModel, BedrockSettings};
    use verbale::call::CallBuilder;
    use verbale::testing::FakeBedrock;
    use verbale::{MessageWrapper, Role};

    use super::*;

    const TEXT: &str = "One two. Three four. One two. Five six.";

    fn call() -> CallSession {
        let client = Client::from_conf(FakeBedrock::new().sdk_config().build());
        CallBuilder::new(BedrockModel::for_turns(client, BedrockSettings::new("a.model"))).open().unwrap()
    }

    fn playing(call: &CallSession) -> (Playback, SpeechId) {
        let mut playback = Playback::default();
        let speech = call.say(TEXT).unwrap();
        playback.begin(speech);
        playback.sent(TEXT);
        (playback, speech)
    }

    /// Returns the heard text of the last message if it was interrupted.
    fn heard(call: &CallSession) -> Option<String> {
        call.conversation().read(|manager| {
            let last = manager.meta_messages().iter().rfind(|message| message.role() == Role::Assistant)?.message();
            last.heard()?;
            Some(last.heard_contents().texts().map(|text| text.as_str()).collect())
        })
    }

    fn is_finished(call: &CallSession, speech: SpeechId) -> bool {
        format!("{:?}", call.playback_finished(speech, call.now_ms())).contains("reported before")
    }

    #[tokio::test]
    async fn speech_ends_after_its_last_words_and_when_the_agent_is_quiet() {
        let call = call();
        let (mut playback, speech) = playing(&call);
        playback.agent_speaks(true, &call);
        playback.played("One two. Three four.", &call);
        playback.agent_speaks(false, &call); // between two pieces
        playback.complete(&call);
        assert!(playback.is_busy());
        playback.agent_speaks(true, &call);
        playback.played("One two.", &call);
        playback.played("Five six.", &call);
        assert!(playback.is_busy());
        playback.agent_speaks(false, &call);
        assert!(!playback.is_busy() && is_finished(&call, speech));
    }

    #[tokio::test]
    async fn either_event_alone_ends_a_speech() {
        let call = call();
        let (mut playback, speech) = playing(&call);
        playback.played(TEXT, &call);
        assert!(playback.is_busy(), "the reply may have more words");
        playback.complete(&call);
        assert!(!playback.is_busy() && is_finished(&call, speech));

        let (mut playback, speech) = playing(&call);
        playback.complete(&call);
        playback.agent_speaks(true, &call);
        playback.agent_speaks(false, &call);
        assert!(!playback.is_busy() && is_finished(&call, speech));
    }

    #[tokio::test]
    async fn words_of_the_caller_end_a_speech_unless_it_never_began() {
        let call = call();
        let (mut playback, speech) = playing(&call);
        playback.complete(&call);
        playback.end_before_words(&call);
        assert!(!playback.is_busy() && is_finished(&call, speech));

        let (mut playback, _) = playing(&call);
        playback.has_speakers = true;
        playback.complete(&call);
        playback.end_before_words(&call);
        assert!(playback.is_busy());
    }

    #[tokio::test]
    async fn interrupted_words_are_found_in_the_speech() {
        for (played, words, played_ms, expected) in [
            (&[][..], "One two. Three", Some(460), "One two. Three"),
            (&[], "one two three", None, "One two. Three"),
            (&["One two.", "Three four."], "One two.", None, "One two. Three four. One two."),
            (&["One two.", "Three four."], "One two. Five", None, "One two. Three four. One two. Five"),
            (&["One two.", "Three four."], "", Some(9), "One two. Three four."),
            (&[], "", Some(400), "One"),
        ] {
            let call = call();
            let (mut playback, _) = playing(&call);
            played.iter().for_each(|words| playback.played(words, &call));
            playback.interrupted(words, played_ms, &call);
            assert_eq!(heard(&call).unwrap().trim(), expected, "{played:?} {words}");
            assert!(!playback.is_busy());
        }
    }

    #[tokio::test]
    async fn lost_connection_keeps_the_played_words() {
        let call = call();
        let (mut playback, _) = playing(&call);
        playback.played("One two.", &call);
        playback.lost(&call);
        assert_eq!(heard(&call).unwrap().trim(), "One two.");
        assert!(call.is_answerable() || !playback.is_busy());
    }
}
