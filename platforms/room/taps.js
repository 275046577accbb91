// Taps take each participant's sound from the element that plays it: 16 kHz mono, 40 ms at a time, silence left out but
// counted. The streams are shared with the page; the page sees nothing of it.
(kit) => {
	const RATE = 16000, BATCH = 640, QUIET_AFTER = RATE; // a second of silence goes along, so that pauses stay natural
	const send = globalThis.parleyTap;
	const tapped = new WeakSet();
	let next = 0;

	// Half of a low-pass filter for 48 kHz, cut at 7.2 kHz (a windowed sinc of 33 taps).
	const TAPS = 33, filter = (rate) => {
		const h = new Float64Array(TAPS), fc = 7200 / rate, mid = (TAPS - 1) / 2;
		let sum = 0;
		for (let i = 0; i < TAPS; i++) {
			const x = i - mid;
			const sinc = x === 0 ? 2 * fc : Math.sin(2 * Math.PI * fc * x) / (Math.PI * x);
			h[i] = sinc * (0.42 - 0.5 * Math.cos(2 * Math.PI * i / (TAPS - 1)) + 0.08 * Math.cos(4 * Math.PI * i / (TAPS - 1)));
			sum += h[i];
		}
		return h.map((v) => v / sum);
	};
	// resampler gives 16 kHz from whatever whole-numbered rate comes; the time of a sample is kept exactly.
	const resampler = (rate) => {
		const h = filter(Math.max(rate, RATE)), step = rate / RATE;
		let tail = new Float32Array(TAPS - 1), at = 0; // position of the next output in the input that follows the tail
		return (input, put) => {
			const all = new Float32Array(tail.length + input.length);
			all.set(tail);
			all.set(input, tail.length);
			for (; at < input.length; at += step) {
				const i = Math.floor(at);
				let v = 0;
				if (rate <= RATE) v = all[i + TAPS - 1];
				else for (let k = 0; k < TAPS; k++) v += h[k] * all[i + k];
				put(v);
			}
			at -= input.length;
			tail = all.slice(all.length - (TAPS - 1));
		};
	};

	const tap = async (el, track) => {
		const id = 't' + (++next), reader = new MediaStreamTrackProcessor({ track }).readable.getReader();
		let convert = null, rate = 0, batch = new Int16Array(BATCH), n = 0, pos = 0, quiet = QUIET_AFTER, heard = false;
		const flush = () => {
			if (heard && quiet < QUIET_AFTER) {
				const bytes = new Uint8Array(batch.buffer);
				send(JSON.stringify({ person: kit.clip(el.dataset.participantId || '', 64), track: id, pos, pcm: btoa(String.fromCharCode(...bytes)) }));
			}
			pos += BATCH;
			n = 0;
		};
		const put = (v) => {
			const s = Math.max(-32768, Math.min(32767, Math.round(v * 32767)));
			if (s !== 0) { heard = true; quiet = 0; } else quiet++;
			batch[n++] = s;
			if (n === BATCH) flush();
		};
		try {
			for (;;) {
				const { value, done } = await reader.read();
				if (done) break;
				const frames = value.numberOfFrames, channels = value.numberOfChannels;
				if (value.sampleRate !== rate) { rate = value.sampleRate; convert = resampler(rate); }
				const mono = new Float32Array(frames), one = new Float32Array(frames);
				for (let c = 0; c < channels; c++) {
					value.copyTo(one, { planeIndex: c, format: 'f32-planar' });
					for (let i = 0; i < frames; i++) mono[i] += one[i] / channels;
				}
				value.close();
				convert(mono, put);
			}
		} catch { /* the track or the element is gone */ }
		send(JSON.stringify({ person: '', track: id, pos, pcm: '', ended: true }));
	};

	const look = () => {
		for (const el of document.querySelectorAll('audio[data-participant-id]')) {
			for (const track of el.srcObject instanceof MediaStream ? el.srcObject.getAudioTracks() : []) {
				if (tapped.has(track) || track.readyState === 'ended') continue;
				tapped.add(track);
				tap(el, track);
			}
		}
	};
	if (typeof MediaStreamTrackProcessor !== 'function') return;
	kit.ready(() => {
		let queued = false;
		const soon = () => { if (!queued) { queued = true; setTimeout(() => { queued = false; look(); }, 10); } };
		new MutationObserver(soon).observe(document, { subtree: true, childList: true });
		setInterval(look, 500); // an element may get another stream without a mutation
		look();
	});
}
