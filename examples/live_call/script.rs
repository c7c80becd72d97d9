//! The scripted call: the words and times of the caller, and the replies of the model.

use std::num::NonZeroUsize;

use aws_sdk_bedrockruntime::types::ContentBlock;
use serde_json::json;
use verbale::testing::{ReceivedRequest, ScriptedReply};

use crate::pace::Pace;

/// A turn: the words of the caller and the reply.
pub struct Turn {
    pub when: When,
    pub says: &'static str,
    answer: Answer,
}

/// The time at which the caller speaks.
#[derive(Debug, Clone, Copy)]
pub enum When {
    /// After the assistant finished.
    Quiet,
    /// While the assistant speaks, after this number of words.
    Heard(usize),
}

enum Answer {
    Says(&'static str),
    /// The model calls a tool and says more after its result.
    Calls {
        says: &'static str,
        id: &'static str,
        tool: Tool,
        then: &'static str,
    },
}

#[derive(Clone, Copy)]
enum Tool {
    Balance,
    Transfer,
}

pub const CALL: [Turn; 10] = [
    Turn {
        when: When::Quiet,
        says: "Good morning, this is Nadia Okonjo, I have two questions about my accounts.",
        answer: Answer::Says("Good morning, Mrs Okonjo. Please go ahead, I am listening."),
    },
    Turn {
        when: When::Quiet,
        says: "How much do I have in savings at the moment?",
        answer: Answer::Calls {
            says: "One moment, I am looking it up. ",
            id: "call_balance",
            tool: Tool::Balance,
            then: "There are three thousand one hundred euros in your savings account.",
        },
    },
    Turn {
        when: When::Quiet,
        says: "And what was booked on my current account last week?",
        answer: Answer::Says(
            "Last week there were six bookings. On Monday Pellam Island Ferries charged you sixty four euros. On the same \
             day you paid forty two euros at the Harbour Bakery, and the rent of eight hundred and ninety euros went out. \
             On Wednesday you took one hundred euros from the cash machine at the station. On Thursday your telephone \
             was thirty one euros, and on Friday there was a refund of nineteen euros and ninety cents from the Corner \
             Bookshop, which you had asked them for at the end of last month.",
        ),
    },
    Turn {
        when: When::Heard(18),
        says: "Stop, the ferry, that is it. I have never taken that ferry.",
        answer: Answer::Says(
            "I see, the sixty four euros of Pellam Island Ferries on Monday. I can have that booking examined. Shall I?",
        ),
    },
    Turn {
        when: When::Quiet,
        says: "Yes, please. How long will that take?",
        answer: Answer::Says("It takes up to ten days. We write to you as soon as there is an answer."),
    },
    Turn {
        when: When::Quiet,
        says: "Good. Write to my new e-mail address then, nadia at okonjo dot example.",
        answer: Answer::Says("Noted: nadia at okonjo dot example. Is there anything else?"),
    },
    Turn {
        when: When::Quiet,
        says: "Yes, I would like to move two hundred euros from savings to the current account.",
        answer: Answer::Says("Two hundred euros, from your savings account to your current account. Is that right?"),
    },
    Turn {
        when: When::Quiet,
        says: "That is right, go ahead.",
        answer: Answer::Calls {
            says: "I am doing it now. ",
            id: "call_transfer",
            tool: Tool::Transfer,
            then: "Done. The two hundred euros are in your current account.",
        },
    },
    Turn {
        when: When::Quiet,
        says: "Perfect. Do you still have my new address from before?",
        answer: Answer::Says("I do: nadia at okonjo dot example. We write there about the ferry."),
    },
    Turn {
        when: When::Quiet,
        says: "Then that is all. Thank you, and goodbye.",
        answer: Answer::Says("You are welcome, Mrs Okonjo. Goodbye."),
    },
];

/// The summary of the first part of the call.
const FIRST_MINUTES: &str = "\
The caller says she is Nadia Okonjo. Her savings account held 3,100.00 euros. She asked what was booked on her current \
account last week and broke in at the 64 euros of Pellam Island Ferries on Monday.";

/// The summary that replaces the first one.
const LATER_MINUTES: &str = "\
The caller says she is Nadia Okonjo; her savings account held 3,100.00 euros. She says she never took the ferry that was \
booked for 64 euros on Monday (Pellam Island Ferries): it is examined, up to ten days, the answer goes to her new e-mail \
address, nadia at okonjo dot example.";

/// Returns the scripted reply to a request.
pub fn answer(request: &ReceivedRequest, pace: &Pace) -> ScriptedReply {
    if !request.is_streaming() {
        let has_earlier = request.last_text().is_some_and(|call| call.contains("savings account held"));
        let minutes = if has_earlier { LATER_MINUTES } else { FIRST_MINUTES };
        return ScriptedReply::text(minutes).first_token_after(pace.real(2_500));
    }
    let reply = match CALL.iter().find_map(|turn| turn.answer_to(request)) {
        Some(reply) => reply,
        None => ScriptedReply::text("I am sorry, I did not follow."),
    };
    // Slower than most models, so that the barge-in stops a reply that is still being generated.
    reply.words_per_piece(NonZeroUsize::MIN).first_token_after(pace.real(450)).between_events(pace.real(180))
}

impl Turn {
    fn answer_to(&self, request: &ReceivedRequest) -> Option<ScriptedReply> {
        let mut last = request.input().messages().last()?.content.iter().rev();
        let asked = last.find(|block| matches!(block, ContentBlock::Text(_) | ContentBlock::ToolResult(_)))?;
        match (asked, &self.answer) {
            (ContentBlock::ToolResult(result), Answer::Calls { id, then, .. }) if result.tool_use_id == *id => {
                Some(ScriptedReply::text(*then))
            }
            (ContentBlock::Text(text), answer) if text == self.says => Some(answer.reply()),
            _ => None,
        }
    }
}

impl Answer {
    fn reply(&self) -> ScriptedReply {
        match self {
            Self::Says(text) => ScriptedReply::text(*text),
            Self::Calls { says, id, tool, .. } => {
                let (name, input) = match tool {
                    Tool::Balance => ("balance", json!({"account": "savings"})),
                    Tool::Transfer => ("transfer", json!({"from": "savings", "to": "current", "cents": 20_000})),
                };
                ScriptedReply::text(*says).tool_call(*id, name, input)
            }
        }
    }
}
