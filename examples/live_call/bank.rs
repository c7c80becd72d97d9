//! [`Bank`]: the instructions and the tools of the assistant.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use verbale::call::CallBuilder;
use verbale::message::MessageError;
use verbale::model::{Tool, ToolContext, ToolError};

use crate::pace::Pace;
use crate::screen::Screen;

pub const GREETING: &str = "Good morning, Pellam Bank, you are speaking with the assistant. How can I help?";

/// Spoken when a call continues and nothing is to be answered.
pub const BACK: &str = "I am sorry, the line was interrupted. Please continue.";

pub const SYSTEM: &str = "\
You answer the telephone of Pellam Bank. What you write is spoken: one to three short sentences, no lists, no markup, \
amounts in words. Balances and transfers come from the tools; you never guess an amount. Say a few words before you call \
a tool, so that the caller knows what you do. Before a transfer, name the amount and both accounts, and ask for a yes.";

/// The time that a tool takes, in milliseconds.
const TAKES_MS: u64 = 700;

/// A bank with one customer and two accounts. Clones share the accounts.
#[derive(Clone)]
pub struct Bank {
    screen: Arc<Screen>,
    pace: Pace,
    cents: Arc<Mutex<BTreeMap<Account, i64>>>,
}

/// An account of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Account {
    Current,
    Savings,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct BalanceOf {
    account: Account,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Transfer {
    from: Account,
    to: Account,
    /// The amount in cents.
    #[schemars(range(min = 1))]
    cents: i64,
}

impl Bank {
    pub fn new(screen: Arc<Screen>, pace: Pace) -> Self {
        let cents = BTreeMap::from([(Account::Current, 124_050), (Account::Savings, 310_000)]);
        Self { screen, pace, cents: Arc::new(Mutex::new(cents)) }
    }

    /// Adds the tools of the bank to a call.
    pub fn install(self, call: CallBuilder) -> Result<CallBuilder, MessageError> {
        let bank = self.clone();
        let balance = Tool::new(
            "balance",
            "Returns the balance of an account of the caller, in cents.",
            move |of: BalanceOf, _: ToolContext| {
                let bank = bank.clone();
                async move {
                    bank.work("balance", &of).await;
                    bank.balance(of.account).map(|cents| cents.to_string()).ok_or_else(refused)
                }
            },
        )?;
        let transfer = Tool::new(
            "transfer",
            "Moves money between the accounts of the caller. Call it only after the caller said yes.",
            move |transfer: Transfer, _: ToolContext| {
                let bank = self.clone();
                async move {
                    bank.work("transfer", &transfer).await;
                    bank.transfer(&transfer).ok_or_else(refused)
                }
            },
        )?;
        Ok(call.tool(balance).tool(transfer))
    }

    async fn work(&self, tool: &str, arguments: &impl Serialize) {
        let arguments = serde_json::to_string(arguments).unwrap_or_default();
        self.screen.note(&format!("the model calls the tool {tool}: {arguments}"));
        self.pace.wait(TAKES_MS).await;
    }

    fn balance(&self, account: Account) -> Option<i64> {
        self.cents.lock().unwrap_or_else(PoisonError::into_inner).get(&account).copied()
    }

    /// Moves money. Checks all arguments, because the model chose them.
    fn transfer(&self, Transfer { from, to, cents: amount }: &Transfer) -> Option<String> {
        let mut cents = self.cents.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, more) = (cents.get(from)?.checked_sub(*amount)?, cents.get(to)?.checked_add(*amount)?);
        if from == to || left < 0 || *amount < 1 {
            return None;
        }
        *cents.get_mut(from)? = left;
        *cents.get_mut(to)? = more;
        Some(format!("transferred {amount} cents from {from:?} to {to:?}").to_lowercase())
    }
}

fn refused() -> ToolError {
    ToolError::new("the account does not exist or has too little money").with_type("Refused")
}
