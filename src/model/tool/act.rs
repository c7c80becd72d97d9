//! The effect of a tool outside of the conversation, and which calls attempt the same act.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::{Tool, ToolContext};
use crate::message::{ResultContent, ToolCall, ToolError, ToolResult, Value};

/// The effect of a tool outside of the conversation.
#[derive(Clone, Default)]
pub(crate) struct Acting {
    kind: Kind,
    deduplicates_by_key: bool,
    same_act: Option<SameAct>,
    lookup: Option<Lookup>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    ReadOnly,
    #[default]
    MayAct,
    ActsOnce,
}

type SameAct = Arc<dyn Fn(&Value, &Value) -> bool + Send + Sync>;
type Lookup = Arc<dyn Fn(ToolContext) -> LookingUp + Send + Sync>;
type LookingUp = Pin<Box<dyn Future<Output = Result<Option<Vec<ResultContent>>, ToolError>> + Send>>;

/// The outcome of looking up whether a call has acted.
pub(crate) enum LookedUp {
    /// It acted, with this result.
    Acted(ToolResult),
    /// It has not acted, and a late request cannot make it act any more.
    DidNotAct,
    /// It is unknown whether the call has acted.
    Unknown,
}

impl Tool {
    /// Declares that the tool changes nothing outside of the conversation. It runs at once, and its calls have no key.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.acting.kind = Kind::ReadOnly;
        self
    }

    /// Declares that an act of the tool must not happen twice: a call runs only after the log has stored it and
    /// everything before it.
    ///
    /// If the log does not store the call [in time](crate::conversation::Config::with_log_timeout), the call never
    /// runs, and the model gets a result that says so. Without a log, a live call with such a tool does not open, and
    /// in a run the tool's calls never run.
    #[must_use]
    pub fn acts_once(mut self) -> Self {
        self.acting.kind = Kind::ActsOnce;
        self
    }

    /// Declares that the service that the tool calls acts at most once for an
    /// [idempotency key](ToolContext::idempotency_key). After an unknown outcome or an error, a call of the same act may
    /// then run again, with the same key.
    #[must_use]
    pub fn deduplicates_by_key(mut self) -> Self {
        self.acting.deduplicates_by_key = true;
        self
    }

    /// Sets which arguments mean the same act; by default, equal ones. The first arguments of `is_same` are those of the
    /// earlier call. If `is_same` panics, the calls count as the same act.
    ///
    /// If the log [redacts](crate::log::WriterSettings::with_redactor), the calls of an earlier process have redacted
    /// arguments. `is_same` then also gets the redacted arguments of both calls; if it returns `true` for them, the calls
    /// count as the same act.
    #[must_use]
    pub fn same_act(mut self, is_same: impl Fn(&Value, &Value) -> bool + Send + Sync + 'static) -> Self {
        self.acting.same_act = Some(Arc::new(is_same));
        self
    }

    /// Sets a handler that looks up by its [key](ToolContext::idempotency_key) whether a call has acted. When another
    /// process takes the phone call over, or runs its conversation, the handler runs in the background for each call
    /// with an unknown outcome.
    ///
    /// It returns the contents of the result, or `None` if nothing was found. The outcome stays unknown after an error, a
    /// missed [deadline](Self::with_timeout), and after `None` unless the tool
    /// [`deduplicates_by_key`](Self::deduplicates_by_key), because a request of the earlier process may still arrive. The
    /// handler is then called again, after 1 s and at growing intervals for 4 minutes.
    #[must_use]
    pub fn resume<F, R>(mut self, lookup: F) -> Self
    where
        F: Fn(ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Option<Vec<ResultContent>>, ToolError>> + Send + 'static,
    {
        let lookup = Arc::new(lookup);
        self.acting.lookup = Some(Arc::new(move |context| {
            let lookup = lookup.clone();
            // Called in the task, which catches a panic of the handler.
            Box::pin(async move { lookup(context).await })
        }));
        self
    }

    /// Looks up whether a call has acted. Returns `None` if the tool has no handler for it.
    pub(crate) fn look_up(
        &self,
        call: ToolCall,
        context: ToolContext,
    ) -> Option<impl Future<Output = LookedUp> + Send + use<>> {
        let looking_up = self.acting.lookup.as_ref()?(context);
        let deduplicates = self.acting.deduplicates_by_key;
        Some(async move {
            // A task, so that a panic of the handler counts as an error. Dropping the wait aborts the task.
            let mut task = JoinSet::new();
            task.spawn(looking_up);
            match task.join_next().await {
                Some(Ok(Ok(Some(contents)))) => LookedUp::Acted(call.success(contents)),
                Some(Ok(Ok(None))) if deduplicates => LookedUp::DidNotAct,
                _ => LookedUp::Unknown,
            }
        })
    }
}

impl Acting {
    /// Returns whether calls of the tool have an idempotency key.
    pub fn may_act(&self) -> bool {
        self.kind != Kind::ReadOnly
    }

    /// Returns whether a call runs only after the log has stored it.
    pub fn acts_once(&self) -> bool {
        self.kind == Kind::ActsOnce
    }

    /// Returns whether the service acts at most once for a key.
    pub fn deduplicates_by_key(&self) -> bool {
        self.deduplicates_by_key
    }

    /// Returns whether the tool has a handler that looks up whether a call has acted.
    pub fn can_look_up(&self) -> bool {
        self.lookup.is_some()
    }

    /// Returns whether a call with an unknown outcome may run again.
    pub fn may_repeat(&self) -> bool {
        self.kind != Kind::ActsOnce || self.deduplicates_by_key
    }

    /// Returns whether two calls of the tool attempt the same act, or `None` if the service's code panicked.
    pub fn is_same(&self, earlier: &ToolCall, later: &ToolCall) -> Option<bool> {
        let (earlier, later) = (earlier.arguments(), later.arguments());
        let Some(is_same) = &self.same_act else { return Some(earlier == later) };
        catch_unwind(AssertUnwindSafe(|| is_same(earlier, later))).ok()
    }
}

impl fmt::Debug for Acting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}
