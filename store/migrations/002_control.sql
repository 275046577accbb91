-- What the control endpoint manages for a tenant. A revision counts the changes of one tenant's collection.

create table control_revisions (
  tenant   text not null,
  what     text not null,                     -- bookmarks, tabsets, settings
  revision integer not null,
  primary key (tenant, what)
) without rowid;

create table bookmarks (
  tenant text not null,
  id     text not null,
  title  text not null,
  url    text not null,
  folder text not null,
  primary key (tenant, id)
) without rowid;

create table tabsets (
  tenant   text not null,
  owner    text not null,                     -- the grant that saved it; no other sees it
  id       text not null,
  name     text not null,
  revision integer not null,
  tabs     text not null,                     -- JSON: [{url,title,group}]
  saved_ms integer not null,
  primary key (tenant, owner, id)
) without rowid;

create table control_settings (
  tenant text not null,
  name   text not null,
  value  text not null,
  primary key (tenant, name)
) without rowid;

-- Login credentials. What is secret of them is sealed with the vault's key, which a passphrase wraps.
create table vaults (
  tenant  text primary key,
  wrapped blob not null
) without rowid;

create table credentials (
  tenant     text not null,
  id         text not null,
  origin     text not null,
  action     text not null,
  user_field text not null,
  pass_field text not null,
  sealed     blob not null,
  primary key (tenant, id)
) without rowid;
