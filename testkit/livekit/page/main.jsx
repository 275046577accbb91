// main.jsx: LiveKit's own prebuilt conference, with as little around it as there can be: who joins, and why it ended.

import { LiveKitRoom, PreJoin, VideoConference } from '@livekit/components-react';
import '@livekit/components-styles';
import { DisconnectReason } from 'livekit-client';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

const room = decodeURIComponent(location.pathname.split('/').filter(Boolean).pop());

const reasons = {
  [DisconnectReason.CLIENT_INITIATED]: 'You left the meeting',
  [DisconnectReason.PARTICIPANT_REMOVED]: 'You have been removed from the meeting',
  [DisconnectReason.ROOM_DELETED]: 'The meeting has ended',
  [DisconnectReason.SERVER_SHUTDOWN]: 'The meeting has ended',
};

function App() {
  const [choices, setChoices] = useState();
  const [token, setToken] = useState();
  const [ended, setEnded] = useState();
  const [error, setError] = useState('');

  async function join(made) {
    const answer = await fetch('/api/token?' + new URLSearchParams({ room, name: made.username }));
    if (!answer.ok) return setError(await answer.text());
    setChoices(made);
    setToken(await answer.text());
  }

  if (ended !== undefined) {
    return (
      <section className="end">
        <h1 role="status">{reasons[ended] ?? 'Disconnected from the meeting'}</h1>
        <button className="lk-button" onClick={() => location.reload()}>Rejoin</button>
      </section>
    );
  }
  if (!token) {
    return (
      <section className="prejoin">
        <PreJoin defaults={{ username: '', videoEnabled: false, audioEnabled: true }} persistUserChoices={false} onSubmit={join} />
        <p role="alert">{error}</p>
      </section>
    );
  }
  return (
    <LiveKitRoom token={token} serverUrl={location.origin.replace(/^http/, 'ws')} audio={choices.audioEnabled} video={choices.videoEnabled}
      onDisconnected={reason => setEnded(reason ?? DisconnectReason.UNKNOWN_REASON)} onError={e => setError(String(e))}>
      <VideoConference />
    </LiveKitRoom>
  );
}

document.title = room;
createRoot(document.getElementById('app')).render(<App />);
