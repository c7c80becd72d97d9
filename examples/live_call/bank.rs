//! [`Bank`]: what the assistant is told, and the tools that it has.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use verbale::call::{CallBuilder, Tool, ToolFuture};
use verbale::message::{InvocationError, MessageError, ResultContent};
use verbale::model::ToolSpec;
use verbale::{Invocation, Value};

use crate::pace::Pace;
use crate::screen::Screen;

pub const GREETING: &str = "Good morning, Pellam Bank, you are speaking with the assistant. How can I help?";

pub const SYSTEM: &str = "\
You answer the telephone of Pellam Bank. What you write is spoken: one to three short sentences, no lists, no markup, \
amounts in words. Balances and transfers come from the tools; you never guess an amount. Say a few words before you call \
a tool, so that the caller knows what you do. Before a transfer, name the amount and both accounts, and ask for a yes.";

/// How long the bank's computer takes.
const TAKES_MS: u64 = 700;

/// A bank of one customer with two accounts. Clones are the same bank.
#[derive(Clone)]
pub struct Bank {
    screen: Arc<Screen>,
    pace: Pace,
    cents: Arc<Mutex<BTreeMap<&'static str, i64>>>,
    refusal: InvocationError,
}

impl Bank {
    pub fn new(screen: Arc<Screen>, pace: Pace) -> Result<Self, MessageError> {
        let cents = BTreeMap::from([("current", 124_050), ("savings", 310_000)]);
        let refusal = InvocationError::new("no such account, or not enough money in it")?.with_type("Refused");
        Ok(Self { screen, pace, cents: Arc::new(Mutex::new(cents)), refusal })
    }

    /// Gives a call the tools of the bank.
    pub fn install(self, call: CallBuilder) -> Result<CallBuilder, MessageError> {
        let account = serde_json::json!({"type": "string", "enum": ["current", "savings"]});
        let balance = ToolSpec::new(
            "balance",
            "How much is in an account of the caller, in cents.",
            schema(serde_json::json!({"account": account}))?,
        )?;
        let transfer = ToolSpec::new(
            "transfer",
            "Moves money between the accounts of the caller. Call it only when the caller has said yes.",
            schema(serde_json::json!({"from": account, "to": account, "cents": {"type": "integer", "minimum": 1}}))?,
        )?;
        Ok(call.tool(balance, self.clone()).tool(transfer, self))
    }

    /// The arguments are the model's: nothing in them is taken for granted.
    fn answer(&self, invocation: &Invocation) -> Option<String> {
        let arguments = invocation.arguments().as_map()?;
        let account = |key: &str| arguments.get(key).and_then(Value::as_str);
        let mut cents = self.cents.lock().unwrap_or_else(PoisonError::into_inner);
        match invocation.name().as_str() {
            "balance" => Some(cents.get(account("account")?)?.to_string()),
            "transfer" => {
                let Some(Value::Number(amount)) = arguments.get("cents") else { return None };
                let amount = amount.as_i64().filter(|amount| *amount > 0)?;
                let (from, to) = (account("from")?, account("to")?);
                let (left, more) = (cents.get(from)?.checked_sub(amount)?, cents.get(to)?.checked_add(amount)?);
                if from == to || left < 0 {
                    return None;
                }
                *cents.get_mut(from)? = left;
                *cents.get_mut(to)? = more;
                Some(format!("transferred {amount} cents from {from} to {to}"))
            }
            _ => None,
        }
    }
}

impl Tool for Bank {
    fn call<'a>(&'a self, invocation: &'a Invocation) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments = serde_json::to_string(invocation.arguments()).unwrap_or_default();
            self.screen.note(&format!("the tool {} is called: {arguments}", invocation.name().as_str()));
            self.pace.wait(TAKES_MS).await;
            let answer = self.answer(invocation).ok_or_else(|| self.refusal.clone())?;
            Ok(vec![ResultContent::from(answer)])
        })
    }
}

/// All of the properties are required.
fn schema(properties: serde_json::Value) -> Result<Value, MessageError> {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(|properties| properties.keys()).collect();
    serde_json::json!({"type": "object", "properties": properties, "required": required}).try_into()
}
