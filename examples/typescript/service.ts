// A voice service in TypeScript: plays a call with a tool, a barge-in and a lost connection over the socket of `verbale serve`.
//
//     cargo run -- serve                          # in one terminal
//     npm install                                 # in this folder, in another one
//     npm start
//
// A real service replaces `console.log` by its speech synthesis and `CALLER` by its speech recognition.
import WebSocket from "ws";

type Message = { type: string; seq?: number; [field: string]: any };

const CALLER = ["Good morning, when does the ferry leave?", 'Then use book {"seats": 2}', "Tell me all that you know.", "Thank you, bye."];
const BOOK = {
  name: "book",
  description: "Books seats on the ferry.",
  input_schema: { type: "object", properties: { seats: { type: "integer" } }, required: ["seats"] },
  acts_once: true,
  deduplicates_by_key: true,
};

class Call {
  private socket!: WebSocket;
  private instance: string | null = null;
  private seq = 0;
  private numbers = 0;
  private interrupted: string | null = null; // the speech that the caller broke in on
  private unstored = new Map<string, Message>(); // messages that the log may not have, by their event ids
  private bookings = new Map<string, string>(); // tickets by idempotency key
  private received: Message[] = [];
  private wake = () => {};

  constructor(private url: string) {}

  /** Connects, at first or again. The server sends what this client has missed. */
  async connect() {
    const socket = new WebSocket(this.url);
    this.socket = socket;
    this.received = [];
    socket.on("message", (data) => {
      if (socket !== this.socket) return; // an older connection
      this.received.push(JSON.parse(data.toString()));
      this.wake();
    });
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    const start = { system: "You answer the phone of a ferry.", greeting: "Good morning.", tools: [BOOK] };
    socket.send(JSON.stringify({ type: "start", instance: this.instance, after_seq: this.seq, ...start }));
    const started = await this.receive();
    if (started.type === "refused") throw new Error(`the server refused the call: ${started.error}`);
    this.instance = started.instance;
    for (const message of this.unstored.values()) socket.send(JSON.stringify(message));
  }

  disconnect() {
    this.socket.close();
  }

  send(message: Message) {
    const event = { ...message, event_id: `event-${++this.numbers}` };
    this.unstored.set(event.event_id, event);
    this.socket.send(JSON.stringify(event));
  }

  async receive(): Promise<Message> {
    while (this.received.length === 0) await new Promise<void>((resolve) => (this.wake = resolve));
    const message = this.received.shift()!;
    this.seq = message.seq!;
    for (const id of message.event_ids ?? []) this.unstored.delete(id);
    return message;
  }

  /** Speaks the answer, runs its tools, and returns its end. */
  async answer(breaksIn = false): Promise<string> {
    for (;;) {
      const message = await this.receive();
      const speech = message.speech;
      if (message.type === "said" || message.type === "sentence") {
        if (speech === this.interrupted) continue; // what was not played is dropped
        console.log(`assistant: ${message.text.trim()}`);
        this.send({ type: "playback_started", speech });
        if (message.type === "said") {
          this.send({ type: "playback_finished", speech });
          return "said";
        }
        if (breaksIn) {
          this.interrupted = speech;
          console.log("           (the caller breaks in)");
          this.send({ type: "caller_started" });
          this.send({ type: "playback_interrupted", speech, words: message.text.split(" ").slice(0, 2).join(" ") });
        }
      } else if (message.type === "tool_called") {
        const key = message.idempotency_key;
        if (!this.bookings.has(key)) this.bookings.set(key, `F-${this.bookings.size + 17}`);
        console.log(`tool:      ${message.name} ${JSON.stringify(message.arguments)} -> ${this.bookings.get(key)}`);
        this.send({ type: "tool_result", tool_call_id: message.tool_call_id, output: `booked, ticket ${this.bookings.get(key)}` });
      } else if (message.type === "reply_ended") {
        if (message.end !== "interrupted") this.send({ type: "playback_finished", speech });
        return message.end;
      } else if (message.type === "refused") {
        throw new Error(`the server refused a message: ${message.error}`);
      }
    }
  }
}

const server = process.argv[2] ?? "ws://127.0.0.1:8765";
const call = new Call(`${server}/v1/calls/typescript-1/socket`);
await call.connect();
await call.answer(); // the greeting
for (const [number, words] of CALLER.entries()) {
  console.log(`caller:    ${words}`);
  call.send({ type: "caller_said", text: words });
  await call.answer(number === 2);
  if (number === 1) {
    call.disconnect(); // a lost connection loses nothing
    await call.connect();
  }
}
call.send({ type: "close", reason: "hangup" });
while ((await call.receive()).type !== "ended");
console.log("the call has ended");
process.exit(0);
