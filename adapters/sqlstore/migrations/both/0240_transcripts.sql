-- +goose Up

-- The webhook that gets the finished turns of a chat's visitors; '' is none. It is set for few chats, and read when a
-- webhook is deleted.
ALTER TABLE chat_templates ADD COLUMN transcripts TEXT NOT NULL DEFAULT '';
CREATE INDEX chat_templates_transcripts ON chat_templates (workspace_id, transcripts) WHERE transcripts <> '';
