//! [`Line`]: the telephone line. It speaks and reports playback, like speech synthesis with a player.

use verbale::call::{CallSession, Played, Reply, ReplyEnd, SpeechId};
use verbale::model::Failure;

use crate::caller::{Act, Caller};
use crate::pace::Pace;
use crate::screen::Screen;

/// The telephone line of a call.
pub struct Line<'a> {
    pub call: &'a CallSession,
    pub screen: &'a Screen,
    pub pace: &'a Pace,
}

/// Words to speak.
pub enum Speech {
    /// A complete text.
    Fixed(SpeechId, Option<String>),
    /// A reply, sentence by sentence.
    Reply(Reply),
}

/// The speed of speech, in bytes of text per second: about 160 words per minute.
const BYTES_PER_S: u64 = 15;

impl Line<'_> {
    /// Speaks to the end, or until the caller acts. Returns that act.
    pub async fn speak(&self, speech: &mut Speech, caller: &mut impl Caller) -> Option<Act> {
        let id = speech.id();
        let mut played = Vec::new();
        loop {
            let sentence = tokio::select! {
                biased;
                act = caller.breaks_in(played.len()) => return Some(self.cut_off(id, &played, "", act)),
                sentence = speech.next() => sentence,
            };
            let Some(sentence) = sentence else { break };
            if played.is_empty() {
                self.call.playback_started(id, self.call.now_ms());
            }
            self.screen.said("assistant", &sentence);
            let mut rest = sentence.as_str();
            while let Some(word) = rest.split_inclusive(char::is_whitespace).next() {
                tokio::select! {
                    biased;
                    act = caller.breaks_in(played.len()) => return Some(self.cut_off(id, &played, rest, act)),
                    () = self.pace.wait(word.len() as u64 * 1_000 / BYTES_PER_S) => {}
                }
                played.push(word.trim().to_owned());
                rest = rest.get(word.len()..).unwrap_or_default();
            }
        }
        self.call.playback_finished(id, self.call.now_ms());
        None
    }

    /// Stops the player and reports the words that it played. If the caller hung up, `close` cuts the speech off.
    fn cut_off(&self, speech: SpeechId, played: &[String], rest: &str, act: Act) -> Act {
        let unheard = if rest.is_empty() { String::new() } else { format!(", cut off: {}…", rest.trim()) };
        if act == Act::HangsUp {
            self.screen.note(&format!("the caller hangs up{unheard}"));
            return act;
        }
        let now_ms = self.call.now_ms();
        self.call.caller_started_speaking(now_ms);
        if !played.is_empty() {
            self.call.playback_interrupted(speech, Played::Words(played.join(" ")), now_ms);
        }
        self.screen.note(&format!("the caller breaks in; {} words were heard{unheard}", played.len()));
        act
    }
}

impl Speech {
    /// Returns why the model did not reply, if it did not.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Reply(reply) => match reply.end() {
                Some(ReplyEnd::Failed(failure)) => failure.as_ref(),
                _ => None,
            },
            Self::Fixed(..) => None,
        }
    }

    fn id(&self) -> SpeechId {
        match self {
            Self::Fixed(id, _) => *id,
            Self::Reply(reply) => reply.speech(),
        }
    }

    async fn next(&mut self) -> Option<String> {
        match self {
            Self::Fixed(_, text) => text.take(),
            Self::Reply(reply) => reply.next_sentence().await,
        }
    }
}
