-- +goose Up
-- When mails about invitations were sent, as a JSON array of times: by a workspace, by a user, and to a
-- mailbox. Rows are removed a day after the last invitation.
CREATE TABLE invitation_mails (
    scope   TEXT PRIMARY KEY,
    sent    TEXT NOT NULL,
    last_at BIGINT NOT NULL
);
CREATE INDEX invitation_mails_last ON invitation_mails (last_at);
