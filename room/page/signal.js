// signal.js: the connection to the room. It comes back by itself after a loss, for as long as the seat is kept.

const pingEvery = 4000, pongWithin = 4000, openWithin = 5000;

export class Signal {
  // heard is called with every notice; changed with "open", "lost" (trying again) and "gone" (given up). path is the
  // connection's; without one it is below the page's own.
  constructor(heard, changed, path = location.pathname.replace(/\/$/, '') + '/ws') {
    this.path = path;
    this.heard = heard;
    this.changed = changed;
    this.token = '';
    this.hold = 0;
    this.seen = 0;
    this.over = false;
  }

  // join connects and asks for a seat. request gives the join message, also each time the connection comes back.
  join(request) {
    this.request = request;
    this.connect();
  }

  connect() {
    const url = new URL(this.path, location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = this.socket = new WebSocket(url);
    const late = setTimeout(() => socket.close(), openWithin);
    socket.onopen = () => {
      clearTimeout(late);
      this.put({ type: 'join', ...this.request(), token: this.token, seen: this.seen });
      this.keepAlive(socket);
    };
    socket.onmessage = event => {
      if (this.socket !== socket || this.over) return;
      this.alive = performance.now();
      const notice = JSON.parse(event.data);
      if (notice.type === 'pong') return;
      this.note(notice);
      this.heard(notice);
    };
    socket.onclose = () => {
      clearTimeout(late);
      if (this.socket === socket && !this.over) this.retry();
    };
  }

  // note keeps what is needed to come back.
  note(notice) {
    switch (notice.type) {
      case 'welcome':
        for (const line of notice.chat ?? []) this.seen = Math.max(this.seen, line.seq);
        // falls through
      case 'waiting':
        this.token = notice.token;
        this.hold = notice.hold;
        this.lostAt = undefined;
        this.tries = 0;
        this.changed('open');
        break;
      case 'chat':
        this.seen = Math.max(this.seen, notice.seq);
        break;
      case 'ended':
      case 'refused':
        this.close();
    }
  }

  keepAlive(socket) {
    this.alive = performance.now();
    const timer = setInterval(() => {
      if (this.socket !== socket || socket.readyState !== WebSocket.OPEN) return clearInterval(timer);
      if (performance.now() - this.alive > pingEvery + pongWithin) {
        clearInterval(timer);
        this.abandon(socket);
        return;
      }
      this.put({ type: 'ping' });
    }, pingEvery);
  }

  // abandon gives up a connection that is dead but has not said so, without waiting for its end.
  abandon(socket) {
    socket.onclose = socket.onmessage = null;
    socket.close();
    if (!this.over) this.retry();
  }

  retry() {
    const now = performance.now();
    this.lostAt ??= now;
    this.tries = (this.tries ?? 0) + 1;
    if (!this.token || now - this.lostAt > this.hold) {
      this.over = true;
      this.changed('gone');
      return;
    }
    this.changed('lost');
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.connect(), Math.min(2000, 250 * 2 ** (this.tries - 2)));
  }

  // put sends a message; false when there is no connection.
  put(message) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  leave() {
    this.put({ type: 'leave' });
    this.close();
  }

  close() {
    this.over = true;
    clearTimeout(this.timer);
    this.socket?.close(1000);
  }
}
