-- +goose Up
-- Earlier links of invitations to chats. They work as long as the invitation is open.
CREATE TABLE invitation_links (
    hash          BYTEA PRIMARY KEY,
    invitation_id TEXT NOT NULL REFERENCES invitations (id) ON DELETE CASCADE,
    created_at    BIGINT NOT NULL
);
CREATE INDEX invitation_links_invitation ON invitation_links (invitation_id);

-- Deleting a chat ends its invitations. Until now it did not.
DELETE FROM chat_members WHERE invited AND template_id IN (SELECT id FROM chat_templates WHERE deleted_at <> 0);
UPDATE invitations SET open = FALSE WHERE open AND guest AND NOT EXISTS (
    SELECT 1 FROM chat_members m WHERE m.workspace_id = invitations.workspace_id AND m.invited
    AND m.user_id = 'usr' || substr(invitations.id, 4));
