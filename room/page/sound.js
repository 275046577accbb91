// sound.js: the microphone, and everybody else's sound.

// Microphone is the reader's own. Its state is "on", "off" or "blocked".
export class Microphone {
  constructor(changed) {
    this.changed = changed;
    this.wanted = true;
    this.original = false;
    this.track = null;
    this.blocked = false;
    this.opening = null;
  }

  get state() {
    return this.blocked ? 'blocked' : this.wanted && this.track ? 'on' : 'off';
  }

  // prepare opens the microphone ahead of time where that asks nobody anything.
  async prepare() {
    try {
      const permission = await navigator.permissions.query({ name: 'microphone' });
      if (permission.state === 'granted') await this.open();
      permission.onchange = () => { if (permission.state === 'granted' && this.blocked) this.open(); };
    } catch {
      // This browser does not tell: the microphone is opened when it is first needed.
    }
  }

  async set(on) {
    this.wanted = on;
    if (this.track) this.track.enabled = on;
    this.changed();
    if (on && !this.track) await this.open();
  }

  open() {
    this.opening ??= this.get().finally(() => { this.opening = null; });
    return this.opening;
  }

  async get() {
    const clean = !this.original;
    try {
      const stream = await navigator.mediaDevices.getUserMedia({
        audio: { echoCancellation: clean, noiseSuppression: clean, autoGainControl: clean, channelCount: 1 },
      });
      this.close();
      const track = this.track = stream.getAudioTracks()[0];
      track.enabled = this.wanted;
      track.onended = () => { // the device was unplugged, or its server died
        if (this.track !== track) return;
        this.track = null;
        this.blocked = true;
        this.changed();
      };
      this.blocked = false;
    } catch {
      this.blocked = true;
    }
    this.changed();
  }

  // setOriginal takes the microphone anew with or without processing.
  async setOriginal(on) {
    this.original = on;
    if (this.track) await this.get();
  }

  close() {
    if (!this.track) return;
    this.track.onended = null;
    this.track.stop();
    this.track = null;
  }
}

// Sound is the media connection. send(message) goes to the room; blocked() tells that the browser wants a click first.
export class Sound {
  constructor(box, microphone, send, blocked) {
    this.box = box;
    this.microphone = microphone;
    this.send = send;
    this.blocked = blocked;
    this.media = 0;
    this.pc = null;
    this.queue = Promise.resolve();
  }

  // offer takes an offer of the room; offers are worked one after another.
  offer(notice) {
    this.queue = this.queue.then(() => this.accept(notice)).catch(() => this.send({ type: 'restart', media: notice.media }));
    return this.queue;
  }

  async accept(notice) {
    if (notice.media !== this.media) this.renew(notice.media);
    const pc = this.pc;
    if (!pc) return;
    await pc.setRemoteDescription({ type: 'offer', sdp: notice.sdp });
    if (!this.sender) { // the first section is the microphone's
      const mine = pc.getTransceivers()[0];
      mine.direction = 'sendonly';
      this.sender = mine.sender;
    }
    await this.attach();
    await pc.setLocalDescription();
    if (this.pc === pc) this.send({ type: 'answer', media: notice.media, n: notice.n, sdp: pc.localDescription.sdp });
  }

  // attach sends what the microphone gives, if there is one.
  async attach() {
    if (this.sender && this.sender.track !== this.microphone.track) await this.sender.replaceTrack(this.microphone.track);
  }

  renew(media) {
    this.close();
    this.media = media;
    const pc = this.pc = new RTCPeerConnection();
    pc.ontrack = event => this.play(event.streams[0], event.track);
    pc.onconnectionstatechange = () => {
      if (this.pc !== pc) return;
      clearTimeout(this.timer);
      const again = () => { if (this.pc === pc && pc.connectionState !== 'connected') this.send({ type: 'restart', media }); };
      if (pc.connectionState === 'failed') again();
      if (pc.connectionState === 'disconnected') this.timer = setTimeout(again, 2500);
    };
  }

  // play gives a participant's sound an element of its own. The stream's id is the participant's.
  play(stream, track) {
    if (!stream) return;
    let audio = this.element(stream.id);
    if (!audio) {
      audio = document.createElement('audio');
      audio.autoplay = true;
      audio.dataset.participantId = stream.id;
      this.box.append(audio);
    }
    audio.srcObject = new MediaStream([track]);
    audio.play().catch(error => { if (error.name === 'NotAllowedError') this.blocked(); });
  }

  element(id) {
    return [...this.box.children].find(a => a.dataset.participantId === id);
  }

  // resume starts what the browser held back, after a click.
  resume() {
    for (const audio of this.box.children) audio.play().catch(() => {});
  }

  drop(id) {
    const audio = this.element(id);
    if (!audio) return;
    audio.srcObject = null;
    audio.remove();
  }

  close() {
    clearTimeout(this.timer);
    if (this.pc) {
      this.pc.onconnectionstatechange = this.pc.ontrack = null;
      this.pc.close();
    }
    this.pc = this.sender = null;
  }

  end() {
    this.close();
    this.media = 0;
    for (const audio of [...this.box.children]) this.drop(audio.dataset.participantId);
  }
}
