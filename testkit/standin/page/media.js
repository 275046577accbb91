// media.js: the page's sound. It takes a seat in the built-in room and plays what the others say the way the platform
// does: by a few shared streams, by one, or without any element of its own.

import { Signal } from '/room/signal.js';
import { Microphone, Sound } from '/room/sound.js';

// Streams is Sound with the participants mixed into a number of streams.
class Streams extends Sound {
  // shape is { streams: how many, elements: whether they are played by audio elements }.
  constructor(microphone, send, shape) {
    super(document.createElement('div'), microphone, send, () => {});
    this.shape = shape;
    this.inputs = new Map(); // participant → { source, gain, pump, at }
    this.outputs = [];
    this.next = 0;
  }

  start() {
    if (this.context) return;
    this.context = new AudioContext({ latencyHint: 'playback' });
    this.context.resume();
    for (let i = 0; i < this.shape.streams; i++) {
      if (!this.shape.elements) {
        this.outputs.push({ node: this.context.destination });
        continue;
      }
      const node = this.context.createMediaStreamDestination();
      const element = document.createElement('audio');
      element.autoplay = true;
      element.srcObject = node.stream;
      document.getElementById('sound').append(element);
      element.play().catch(() => {});
      this.outputs.push({ node, element });
    }
  }

  play(stream, track) {
    if (!stream) return;
    this.start();
    this.drop(stream.id);
    const own = new MediaStream([track]);
    // Chromium gives a remote track's samples to the graph only while an element plays it, too.
    const pump = new Audio();
    pump.muted = true;
    pump.srcObject = own;
    pump.play().catch(() => {});
    const source = this.context.createMediaStreamSource(own);
    const gain = this.context.createGain();
    const at = this.next++ % this.outputs.length;
    source.connect(gain).connect(this.outputs[at].node);
    this.inputs.set(stream.id, { source, gain, pump, at });
  }

  // speaks moves somebody to a stream that nobody else who speaks has: the loudest get the streams in turn.
  speaks(id, busy) {
    const mine = this.inputs.get(id);
    if (!mine || this.outputs.length < 2) return;
    const taken = new Set([...busy].filter(o => o !== id).map(o => this.inputs.get(o)?.at));
    if (!taken.has(mine.at)) return;
    const free = this.outputs.findIndex((_, i) => !taken.has(i));
    if (free < 0) return;
    mine.gain.disconnect();
    mine.gain.connect(this.outputs[free].node);
    mine.at = free;
  }

  drop(id) {
    const i = this.inputs.get(id);
    if (!i) return;
    i.gain.disconnect();
    i.source.disconnect();
    i.pump.srcObject = null;
    this.inputs.delete(id);
  }

  end() {
    this.close();
    this.media = 0;
    for (const id of [...this.inputs.keys()]) this.drop(id);
    for (const o of this.outputs) {
      if (o.element) { o.element.srcObject = null; o.element.remove(); }
    }
    this.outputs = [];
    this.context?.close();
    this.context = null;
  }
}

// Media follows the view: it is in the room while the view says so.
export class Media {
  constructor(shape) {
    this.shape = shape;
    this.microphone = new Microphone(() => {});
    this.microphone.wanted = false;
    this.muted = true;
    this.speaking = new Set();
  }

  // preview opens the microphone before the call, as the platforms do.
  preview() {
    if (navigator.mediaDevices) this.microphone.open();
  }

  async follow(view, page) {
    const on = !view.self.muted;
    if (this.microphone.wanted !== on) {
      this.microphone.wanted = on;
      if (this.microphone.track) this.microphone.track.enabled = on;
    }
    if (view.media && !this.signal) this.enter(view.media, page);
    if (!view.media && this.signal) this.exit();
    this.tellMuted();
  }

  enter(name, page) {
    const shape = typeof this.shape === 'function' ? this.shape(page) : this.shape;
    this.sound = new Streams(this.microphone, m => this.signal?.put(m), shape);
    const signal = this.signal = new Signal(n => this.heard(n, page), () => {}, `/room/${page.hello.room}/ws`);
    if (!this.microphone.track && navigator.mediaDevices) this.microphone.open().then(() => this.sound?.attach());
    this.muted = !this.microphone.wanted;
    signal.join(() => ({ name, muted: this.muted }));
  }

  heard(n, page) {
    switch (n.type) {
      case 'offer':
        this.sound?.offer(n);
        break;
      case 'gone':
        this.sound?.drop(n.id);
        this.speaking.delete(n.id);
        break;
      case 'speaking':
        if (n.on) this.speaking.add(n.id);
        else this.speaking.delete(n.id);
        if (n.on) this.sound?.speaks(n.id, this.speaking);
        break;
      case 'welcome':
        this.in = true;
        this.tellMuted();
    }
  }

  tellMuted() {
    const muted = !this.microphone.wanted;
    if (this.in && muted !== this.muted && this.signal?.put({ type: 'mute', muted })) this.muted = muted;
  }

  exit() {
    this.signal.leave();
    this.signal = null;
    this.in = false;
    this.sound.end();
    this.sound = null;
    this.speaking.clear();
  }
}
