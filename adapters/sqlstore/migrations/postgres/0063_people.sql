-- +goose Up
-- When the erasure of the person began, 0 for never: the name and the address are empty from then on. words_revision is
-- the revision whose words people_words has; 0 for a user that an older release wrote.
ALTER TABLE users ADD COLUMN erased_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN words_revision BIGINT NOT NULL DEFAULT 0;

-- The words of names and e-mail addresses, folded, by which people are found.
CREATE TABLE people_words (
    org_id  TEXT COLLATE "C" NOT NULL REFERENCES orgs (id),
    word    TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (org_id, word, user_id)
);
CREATE INDEX people_words_user ON people_words (user_id);

CREATE INDEX users_listed ON users (org_id, id) WHERE NOT service;
CREATE INDEX users_disabled ON users (org_id, id) WHERE disabled_at > 0;
CREATE INDEX users_without_words ON users (id) WHERE words_revision <> revision AND NOT service;
CREATE INDEX sessions_user ON sessions (user_id, last_seen_at);
CREATE INDEX api_keys_bearer ON api_keys (user_id, last_used_at);

-- Erasures of people. terms are the texts to look for, as JSON; empty once the erasure has ended.
CREATE TABLE erasures (
    id           TEXT COLLATE "C" PRIMARY KEY,
    org_id       TEXT COLLATE "C" NOT NULL REFERENCES orgs (id),
    user_id      TEXT COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    requested_by TEXT COLLATE "C" NOT NULL,
    terms        TEXT NOT NULL,
    report       TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL
);
CREATE UNIQUE INDEX erasures_user ON erasures (user_id);

-- Keyed hashes of the sign-ins of erased people, for 90 days: tokens from before the erasure open no new account.
CREATE TABLE erased_sign_ins (
    org_id    TEXT COLLATE "C" NOT NULL REFERENCES orgs (id),
    digest    BYTEA NOT NULL,
    erased_at BIGINT NOT NULL,
    PRIMARY KEY (org_id, digest)
);
CREATE INDEX erased_sign_ins_age ON erased_sign_ins (erased_at);
