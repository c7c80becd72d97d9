//! What the model is asked in a run.

use crate::conversation::config::Config;
use crate::manager::MessagesManager;
use crate::message::{Message, MessageWrapper, PLACEHOLDER, PlainMessage, Position, Role, Text};
use crate::model::ModelRequest;

/// The window, with the supervisor messages as the system prompt and the last summary as the record. `None` where there
/// is nothing to answer.
pub(super) fn request(
    manager: &MessagesManager<PlainMessage>,
    config: &Config,
    offers_tools: bool,
) -> Option<ModelRequest> {
    let mut window: Vec<Message> = manager.messages().map(|wrapper| wrapper.message().clone()).collect();
    // An answer that was cut, or an example, is gone on with.
    if window.last()?.role() == Role::Assistant {
        window.push(Message::new(0.into(), Position::message(0), Role::User, PLACEHOLDER.into(), 0));
    }
    let mut request = ModelRequest::new(window);
    request.system = joined(manager.supervisors(), "\n\n");
    request.record = joined(manager.last_summary(), "\n");
    if offers_tools {
        request.tools = config.specs();
    }
    Some(request)
}

/// All texts of the messages; one alone is not copied.
fn joined<'a>(messages: impl IntoIterator<Item = &'a PlainMessage>, between: &str) -> Option<Text> {
    let texts: Vec<&Text> = messages.into_iter().flat_map(|message| message.contents().texts()).collect();
    match texts.as_slice() {
        [] => None,
        [one] => Some((*one).clone()),
        several => Some(several.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(between).into()),
    }
}
