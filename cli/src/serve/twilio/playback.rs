//! [`Playback`]: what Twilio has played, from the events of a session.
//!
//! Reports it to the call. `interrupt` has the words that were played; `tokensPlayed` and `agentSpeaking` show that a speech
//! was played to its end. Twilio does not document the last two, so a session without them works too: the caller's next
//! words end the speech.

use std::collections::VecDeque;
use std::sync::Arc;

use super::relay::apply;
use crate::serve::live::LiveCall;
use crate::serve::protocol::ClientEvent;

/// The late words of an interrupted speech come soon.
const MAX_OVER: usize = 8;

/// The playback of one session.
#[derive(Default)]
pub struct Playback {
    now: Option<Playing>,
    /// The speeches that ended before, oldest first.
    over: VecDeque<String>,
    agent_speaks: bool,
    /// Whether the session has events of speakers, or of played words.
    has_speakers: bool,
    has_words: bool,
}

/// A speech that Twilio got and that was not played to its end, as far as the program knows.
#[derive(Default)]
struct Playing {
    speech: String,
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
    /// Returns whether a speech is being sent or played.
    pub fn is_busy(&self) -> bool {
        self.now.is_some()
    }

    /// Returns whether a speech was interrupted, or another one has followed.
    pub fn is_over(&self, speech: &str) -> bool {
        self.over.iter().any(|over| over == speech)
    }

    /// Notes words that are to be sent. The first ones start a speech, and the one before is no longer played. Returns
    /// whether they are to be sent: nothing follows an interruption.
    pub fn sent(&mut self, speech: &str, words: &str) -> bool {
        if self.is_over(speech) {
            return false;
        }
        if self.now.as_ref().is_none_or(|now| now.speech != speech) {
            self.end();
            self.now = Some(Playing { speech: speech.to_owned(), ..Playing::default() });
        }
        if let Some(now) = &mut self.now {
            now.sent.push_str(words);
            now.is_quiet = false;
        }
        true
    }

    /// Notes that another speech follows. The session knows how much was heard of this one.
    pub fn replaced(&mut self) {
        self.end();
    }

    /// Notes that the speech has no more words. They may be played already.
    pub fn complete(&mut self, speech: &str, call: &Arc<LiveCall>) {
        if let Some(now) = self.now.as_mut().filter(|now| now.speech == speech) {
            now.is_complete = true;
        }
        self.finish_if_played(call);
    }

    /// Ends the speech, and returns it.
    fn end(&mut self) -> Option<Playing> {
        let now = self.now.take()?;
        self.over.push_back(now.speech.clone());
        if self.over.len() > MAX_OVER {
            self.over.pop_front();
        }
        Some(now)
    }

    fn end_if(&mut self, is_over: impl Fn(&Playing) -> bool) -> Option<Playing> {
        if self.now.as_ref().is_some_and(is_over) { self.end() } else { None }
    }

    /// Notes that the assistant began or ceased to be audible.
    pub fn agent_speaks(&mut self, is_speaking: bool, call: &Arc<LiveCall>) {
        (self.agent_speaks, self.has_speakers) = (is_speaking, true);
        if is_speaking {
            self.start(call);
        } else if let Some(now) = &mut self.now {
            now.is_quiet = true;
        }
        self.finish_if_played(call);
    }

    /// Notes words that were played.
    pub fn played(&mut self, words: &str, call: &Arc<LiveCall>) {
        self.has_words = true;
        self.start(call);
        if let Some(now) = &mut self.now {
            now.played.push_str(words);
            now.played.push(' ');
        }
        self.finish_if_played(call);
    }

    /// Reports that the caller interrupted the speech after these words and this time.
    pub fn interrupted(&mut self, words: &str, played_ms: Option<u64>, call: &Arc<LiveCall>) {
        let at_ms = Some(call.session.now_ms());
        apply(call, ClientEvent::CallerStarted { at_ms });
        if let Some(now) = self.end() {
            let (words, played_ms) = now.heard(words, played_ms);
            let speech = now.speech;
            apply(call, ClientEvent::PlaybackInterrupted { speech, words, played_ms, total_ms: None, at_ms });
        }
    }

    /// Reports that the speech was played, before words of the caller that did not interrupt it.
    ///
    /// A speech that never began, or whose reply still runs, stays open: the words are a barge-in then.
    pub fn end_before_words(&mut self, call: &Arc<LiveCall>) {
        let has_events = self.has_speakers || self.has_words;
        if let Some(now) = self.end_if(|now| now.is_complete && (now.is_started || !has_events)) {
            apply(call, ClientEvent::PlaybackFinished { speech: now.speech, at_ms: None });
        }
    }

    /// Reports that the connection was lost. Nothing more is played.
    pub fn lost(&mut self, call: &Arc<LiveCall>) {
        if let Some(now) = self.end() {
            let words = Some(now.played).filter(|_| self.has_words);
            let speech = now.speech;
            apply(
                call,
                ClientEvent::PlaybackInterrupted { speech, words, played_ms: None, total_ms: None, at_ms: None },
            );
        }
    }

    fn start(&mut self, call: &Arc<LiveCall>) {
        if let Some(now) = &mut self.now
            && !std::mem::replace(&mut now.is_started, true)
        {
            apply(call, ClientEvent::PlaybackStarted { speech: now.speech.clone(), at_ms: None });
        }
    }

    fn finish_if_played(&mut self, call: &Arc<LiveCall>) {
        let (has_words, agent_speaks) = (self.has_words, self.agent_speaks);
        let is_played = |now: &Playing| {
            now.is_complete && if has_words { !agent_speaks && now.has_played_all() } else { now.is_quiet }
        };
        if let Some(now) = self.end_if(is_played) {
            apply(call, ClientEvent::PlaybackFinished { speech: now.speech, at_ms: None });
        }
    }
}

impl Playing {
    /// Returns whether as many letters and digits were played as sent. White space and punctuation may differ.
    fn has_played_all(&self) -> bool {
        letters(&self.played) >= letters(&self.sent)
    }

    /// Returns the words that were heard of an interrupted speech, or the time that it was played.
    ///
    /// Twilio's words may begin in the middle of the speech, because Twilio plays it in pieces. The session needs them from
    /// the beginning.
    fn heard(&self, words: &str, played_ms: Option<u64>) -> (Option<String>, Option<u64>) {
        let words = words.trim();
        if words.is_empty() {
            return match played_ms {
                Some(played_ms) if self.played.is_empty() => (None, Some(played_ms)),
                _ => (Some(self.played.clone()), None),
            };
        }
        // The same words may come twice in a speech. They end after those that were played before.
        let ends = self.sent.match_indices(words).map(|(start, _)| start + words.len());
        let heard = |end: &usize| self.sent.get(..*end).map_or(0, letters);
        let end = ends.clone().find(|end| heard(end) >= letters(&self.played)).or_else(|| ends.last());
        let heard = match end.and_then(|end| self.sent.get(..end)) {
            Some(heard) => heard.to_owned(),
            None if self.played.len() > words.len() => self.played.clone(),
            None => words.to_owned(),
        };
        (Some(heard), None)
    }
}

fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use verbale::{MessageWrapper, Role};

    use super::*;
    use crate::serve::changes::Changes;
    use crate::serve::events::Events;
    use crate::serve::models::Models;
    use crate::serve::outbox::Outbox;
    use crate::serve::tools::ClientTools;

    const TEXT: &str = "One two. Three four. One two. Five six.";

    fn call() -> Arc<LiveCall> {
        let session = Arc::new(Models::fake().call().open().unwrap());
        let changes = Arc::new(Changes::of_all());
        let events = Events { outbox: Arc::new(Outbox::new()), changes, call: OnceLock::new() };
        let tools = Arc::new(ClientTools::new(events.outbox.clone(), None));
        Arc::new(LiveCall::new(session, "one".to_owned(), &events, tools))
    }

    fn playing(call: &Arc<LiveCall>) -> (Playback, String) {
        let mut playback = Playback::default();
        let speech = call.say(TEXT.to_owned()).unwrap();
        assert!(playback.sent(&speech, TEXT));
        (playback, speech)
    }

    /// Returns the heard text of the last message if it was interrupted.
    fn heard(call: &Arc<LiveCall>) -> Option<String> {
        call.session.conversation().read(|manager| {
            let last = manager.meta_messages().iter().rfind(|message| message.role() == Role::Assistant)?.message();
            last.heard()?;
            Some(last.heard_contents().texts().map(|text| text.as_str()).collect())
        })
    }

    fn is_finished(call: &Arc<LiveCall>, speech: &str) -> bool {
        let report = ClientEvent::PlaybackFinished { speech: speech.to_owned(), at_ms: None };
        call.apply(None, report).unwrap().contains("reported before")
    }

    #[tokio::test]
    async fn speech_ends_after_its_last_words_and_when_the_agent_is_quiet() {
        let call = call();
        let (mut playback, speech) = playing(&call);
        playback.agent_speaks(true, &call);
        playback.played("One two. Three four.", &call);
        playback.agent_speaks(false, &call); // between two pieces
        playback.complete(&speech, &call);
        assert!(playback.is_busy());
        playback.agent_speaks(true, &call);
        playback.played("One two.", &call);
        playback.played("Five six.", &call);
        assert!(playback.is_busy());
        playback.agent_speaks(false, &call);
        assert!(!playback.is_busy() && is_finished(&call, &speech));
    }

    #[tokio::test]
    async fn either_event_alone_ends_a_speech() {
        let call = call();
        let (mut playback, speech) = playing(&call);
        playback.played(TEXT, &call);
        assert!(playback.is_busy(), "the reply may have more words");
        playback.complete(&speech, &call);
        assert!(!playback.is_busy() && is_finished(&call, &speech));

        let (mut playback, speech) = playing(&call);
        playback.complete(&speech, &call);
        playback.agent_speaks(true, &call);
        playback.agent_speaks(false, &call);
        assert!(!playback.is_busy() && is_finished(&call, &speech));
    }

    #[tokio::test]
    async fn words_of_the_caller_end_a_speech_unless_it_never_began() {
        let call = call();
        let (mut playback, speech) = playing(&call);
        playback.complete(&speech, &call);
        playback.end_before_words(&call);
        assert!(!playback.is_busy() && is_finished(&call, &speech));

        let (mut playback, speech) = playing(&call);
        playback.has_speakers = true;
        playback.complete(&speech, &call);
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
        assert!(call.session.is_answerable() || !playback.is_busy());
    }

    #[tokio::test]
    async fn nothing_follows_an_interrupted_speech() {
        let call = call();
        let (mut playback, speech) = playing(&call);
        playback.interrupted("One two.", None, &call);
        assert!(!playback.sent(&speech, "Seven.") && !playback.is_busy() && playback.is_over(&speech));
        let next = call.say("Eight.".to_owned()).unwrap();
        assert!(playback.sent(&next, "Eight.") && playback.is_busy());
    }
}
