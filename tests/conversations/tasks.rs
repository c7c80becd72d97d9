//! Concurrent tasks: conversations do not block each other, and no message is lost.

use std::sync::mpsc;
use std::sync::{Arc, Barrier};
use std::thread;

use verbale::conversation::Conversations;
use verbale::{MessageWrapper, Role};

use super::backend::{everything, id, texts};

#[test]
fn change_of_one_conversation_does_not_block_others() {
    let conversations = Arc::new(Conversations::default());
    let busy = conversations.get_or_create(&id("busy"));
    let idle = conversations.get_or_create(&id("idle"));
    let (is_in, waits_in) = mpsc::channel();
    let (let_go, waits_out) = mpsc::channel::<()>();
    let changing = thread::spawn(move || {
        busy.change(|manager| {
            is_in.send(()).unwrap();
            waits_out.recv().unwrap();
            manager.add_user("added at last").map(|_| ()).unwrap();
        })
        .unwrap();
    });
    waits_in.recv().unwrap();

    // A query over all conversations waits for this one and holds no other lock.
    let (is_asking, waits_asked) = mpsc::channel();
    let asked = conversations.clone();
    let asking = thread::spawn(move || {
        is_asking.send(()).unwrap();
        asked.query(&everything()).unwrap()
    });
    let known = conversations.clone();
    let asking_for_metadata = thread::spawn(move || known.get(&id("busy")).unwrap().metadata().messages);
    waits_asked.recv().unwrap();

    idle.change(|manager| manager.add_user("hi").map(|_| ()).unwrap()).unwrap();
    for number in 0..1_000 {
        let name = id(&format!("new {number}"));
        let new = conversations.get_or_create(&name);
        new.change(|manager| manager.add_user("hello").map(|_| ()).unwrap()).unwrap();
        assert_eq!(conversations.query(&everything().with_conversation(name.clone())).unwrap().len(), 1);
        assert_eq!(new.metadata().messages, 1);
        assert_eq!(conversations.list().len(), 3);
        assert!(conversations.remove(&name).is_some());
        thread::yield_now();
    }
    assert_eq!(idle.read(|manager| manager.meta_messages().len()), 1);
    assert!(!changing.is_finished() && !asking.is_finished() && !asking_for_metadata.is_finished());

    let_go.send(()).unwrap();
    changing.join().unwrap();
    // The query has found its message.
    assert!(texts(&asking.join().unwrap()).contains(&"busy: added at last".to_owned()));
    assert_eq!(asking_for_metadata.join().unwrap(), 1);
}

#[test]
fn concurrent_get_or_create_returns_one_conversation() {
    const THREADS: usize = 8;
    for round in 0..50 {
        let conversations = Conversations::default();
        let name = id(&round.to_string());
        let barrier = Barrier::new(THREADS);
        thread::scope(|scope| {
            let ask = |thread: usize| {
                let (conversations, name, barrier) = (&conversations, &name, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let conversation = conversations.get_or_create(name);
                    conversation.change(|manager| manager.add_system(thread.to_string()).map(|_| ()).unwrap()).unwrap();
                })
            };
            let threads: Vec<_> = (0..THREADS).map(ask).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        assert_eq!(conversations.get(&name).unwrap().metadata().messages, THREADS);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_messages_are_all_kept() {
    const TASKS: usize = 32;
    const ROUNDS: usize = 60;
    const CONVERSATIONS: usize = 7;
    let conversations = Arc::new(Conversations::default().with_history_limit(usize::MAX));
    let talk = |task: usize| {
        let conversations = conversations.clone();
        async move {
            for round in 0..ROUNDS {
                let name = id(&((task + round) % CONVERSATIONS).to_string());
                let conversation = conversations.get_or_create(&name);
                let role = [Role::User, Role::Assistant, Role::System][round % 3];
                let text = format!("task {task} round {round}.");
                let said = conversation
                    .change(|manager| manager.add(verbale::Draft::new(role, text.as_str())).map(|_| ()))
                    .unwrap();
                said.unwrap();
                // The message is there once, whatever other tasks do.
                let query = everything().with_conversation(name).with_text(text.as_str());
                assert_eq!(conversations.query(&query).unwrap().len(), 1);
                if round % 16 == 0 {
                    assert!(conversations.query(&everything().newest_first().with_limit(10)).unwrap().len() <= 10);
                }
                tokio::task::yield_now().await;
            }
        }
    };
    let tasks: Vec<_> = (0..TASKS).map(|task| tokio::spawn(talk(task))).collect();
    for task in tasks {
        task.await.unwrap();
    }

    let found = conversations.query(&everything()).unwrap();
    let said: usize = found.iter().map(|found| found.message.contents().len()).sum();
    assert_eq!(said, TASKS * ROUNDS);
    let counted: usize = conversations.list().iter().map(|one| one.metadata().messages).sum();
    assert_eq!(counted, found.len());
    assert_eq!(conversations.list().len(), CONVERSATIONS);
    for conversation in conversations.list() {
        let messages = conversation
            .read(|manager| manager.meta_messages().iter().filter(|wrapper| !wrapper.message().is_fake()).count());
        assert_eq!(conversation.metadata().messages, messages);
    }
}
