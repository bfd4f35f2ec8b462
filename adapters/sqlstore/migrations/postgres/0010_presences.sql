-- +goose Up
CREATE TABLE presences (
    id              TEXT COLLATE "C" PRIMARY KEY,
    org_id          TEXT COLLATE "C" NOT NULL REFERENCES orgs (id),
    user_id         TEXT COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    lasting_status  TEXT NOT NULL,
    lasting_text    TEXT NOT NULL,
    lasting_emoji   TEXT NOT NULL,
    passing_status  TEXT NOT NULL,
    passing_text    TEXT NOT NULL,
    passing_emoji   TEXT NOT NULL,
    passing_until   BIGINT NOT NULL,
    claimed_at      BIGINT NOT NULL,
    devices         TEXT NOT NULL,
    active_at       BIGINT NOT NULL,
    seen_at         BIGINT NOT NULL,
    shown           TEXT NOT NULL,
    due_at          BIGINT NOT NULL,
    seq             BIGINT NOT NULL,
    life            BIGINT NOT NULL,
    deleted         BOOLEAN NOT NULL
);
CREATE UNIQUE INDEX presences_user ON presences (org_id, user_id);
CREATE INDEX presences_org ON presences (org_id, id);
CREATE INDEX presences_shown ON presences (org_id, shown, id) WHERE NOT deleted;
CREATE INDEX presences_seq ON presences (org_id, seq);
CREATE INDEX presences_due ON presences (org_id, due_at, user_id) WHERE due_at > 0;

-- The last number that a change of the org's presences was given. Who gives one holds the row until
-- it commits, so that numbers become visible in their order.
CREATE TABLE presence_seqs (
    org_id TEXT COLLATE "C" PRIMARY KEY REFERENCES orgs (id),
    seq    BIGINT NOT NULL
);

-- Tickets open a stream in the place of a credential, once and within a minute.
CREATE TABLE stream_tickets (
    hash       BYTEA PRIMARY KEY,
    org_id     TEXT COLLATE "C" NOT NULL REFERENCES orgs (id),
    key_hash   BYTEA NOT NULL,
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    until      BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX stream_tickets_expiry ON stream_tickets (expires_at);
