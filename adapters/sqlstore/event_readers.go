package sqlstore

import (
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/adapters/sqlstore/prompts"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// typesFor returns the types of events with an audience that are about one kind of subject, or about any if it is
// empty, as SQL.
func typesFor(audience event.Audience, subject string) string {
	var list []string
	for _, kind := range event.Types() {
		if event.AudienceOf(kind) == audience && (subject == "" || event.SubjectType(kind) == subject) {
			list = append(list, `'`+kind+`'`)
		}
	}
	return strings.Join(list, ", ")
}

var readable = `(actor_id = ? OR subject = ? OR type IN (` + typesFor(event.Everyone, "") + `)
	OR type IN (` + typesFor(event.Viewers, "prompt_template") + `) AND EXISTS (SELECT 1 FROM prompt_templates t
		WHERE t.id = events.subject AND t.workspace_id = events.workspace_id
		AND t.deleted_at = 0 AND %)
	OR type IN (` + typesFor(event.Viewers, "chat_template") + `) AND EXISTS (SELECT 1 FROM chat_templates t
		WHERE t.id = events.subject AND t.workspace_id = events.workspace_id
		AND t.deleted_at = 0 AND %))`

// readableBy adds the condition that a reader who is no admin may read an event. It leaves out rows without an index,
// so the caller bounds how many are examined.
func readableBy(where *db.Conditions, by *identity.Actor) {
	if by == nil {
		return
	}
	templates, chats := db.NewConditions(`TRUE`), db.NewConditions(`TRUE`)
	prompts.SeenBy(templates, *by)
	chatSeenBy(chats, *by)
	before, rest, _ := strings.Cut(readable, "%")
	between, after, _ := strings.Cut(rest, "%")
	args := append([]any{by.User, string(by.User)}, templates.Args()...)
	where.When(true, before+templates.SQL()+between+chats.SQL()+after, append(args, chats.Args()...)...)
}
