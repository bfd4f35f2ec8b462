package chats

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
)

// promptLostColumn selects whether the owner of the chat template t may not read the prompt of its draft or of its
// published version. Its arguments are db.RoleOnPromptArgs.
var promptLostColumn = `((t.prompt_id <> '' OR t.published_version_id <> '') AND EXISTS (
	SELECT 1 FROM (SELECT t.prompt_id AS prompt_id, t.prompt_ref AS ref UNION
		SELECT cv.prompt_id, cv.prompt_ref FROM chat_versions cv WHERE cv.id = t.published_version_id) c
	JOIN prompt_templates p ON p.id = c.prompt_id AND p.workspace_id = t.workspace_id AND p.deleted_at = 0
	WHERE ` + db.RoleOnPrompt(`t.owner_id`) + ` < ` +
	db.RoleToReadVersion(db.ReferredVersion(`c.ref`)) + `)) AS prompt_lost`

// loadPromptLost reads t.PromptLost in a separate statement: SQLite compiles it each time in a transaction, which takes
// longer than the rest of a change.
func (store *Store) loadPromptLost(ctx context.Context, by identity.Actor, t *chat.Template) error {
	t.PromptLost = false
	if t.Prompt == (chat.Prompt{}) && (t.Published == nil || t.Published.Prompt == (chat.Prompt{})) {
		return nil
	}
	_, err := store.Get(ctx, &t.PromptLost, `SELECT `+promptLostColumn+` FROM chat_templates t WHERE t.id = ?`,
		append(db.RoleOnPromptArgs(by.At), t.ID)...)
	return err
}
