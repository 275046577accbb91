-- Times are milliseconds since 1970, 0 where there is none.

create table meetings (
  id                text primary key,
  tenant            text not null,
  platform          text not null,
  link_hash         text not null,            -- two joins of one meeting meet here; the link itself may hold a password
  instance          text not null,            -- the process that runs it
  state             text not null,
  reason            text not null default '',
  requested_ms      integer not null,
  admitted_ms       integer not null default 0,
  ended_ms          integer not null default 0,
  recording_state   text not null default 'none',
  recording_seconds real not null default 0,
  recording_bytes   integer not null default 0,
  data              blob not null default x'' -- the keeper's own notes
) without rowid;
create index meetings_of_tenant on meetings (tenant, requested_ms);
create index meetings_running on meetings (ended_ms) where ended_ms = 0;

create table links (
  secret     text primary key,                -- SHA-256 of what the URL carries
  kind       text not null,
  tenant     text not null,
  target     text not null,
  name       text not null,
  created_ms integer not null,
  expires_ms integer not null,
  used_ms    integer not null default 0
) without rowid;
create index links_of_target on links (kind, target);
create index links_expiry on links (expires_ms);

create table idempotency (
  tenant     text not null,
  tool       text not null,
  key        text not null,
  args       text not null,                   -- SHA-256 of the canonical arguments
  owner      text not null,                   -- the process that runs the call
  lease_ms   integer not null,                -- until when it may still be running
  done       integer not null default 0,
  result     blob not null default x'',
  meeting    text not null default '',        -- whose erasure takes the result with it
  created_ms integer not null,
  primary key (tenant, tool, key)
) without rowid;
create index idempotency_age on idempotency (created_ms);

create table usage (
  tenant text not null,
  day    text not null,                       -- 2006-01-02, UTC
  what   text not null,
  amount real not null,
  primary key (tenant, day, what)
) without rowid;

create table grants (
  hash       text primary key,                -- SHA-256 of a token
  tenant     text not null,
  label      text not null,
  created_ms integer not null,
  revoked_ms integer not null default 0
) without rowid;
