package events

import (
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// forEveryone are the types of events that everyone may read, as SQL.
var forEveryone = typesFor(func(kind string) bool { return event.AudienceOf(kind) == event.Everyone })

// typesFor returns the types of events that match, as SQL.
func typesFor(matches func(kind string) bool) string {
	var list []string
	for _, kind := range event.Types() {
		if matches(kind) {
			list = append(list, `'`+kind+`'`)
		}
	}
	return strings.Join(list, ", ")
}

// NewTemplates returns the table of the templates that events with a type of subject, such as prompt_template, are
// about. seenBy adds the condition that a caller sees a row, which the statement names t.
func NewTemplates(subject, table string, seenBy func(*db.Conditions, identity.Actor)) Templates {
	return Templates{table: table, seenBy: seenBy, types: typesFor(func(kind string) bool {
		return event.AudienceOf(kind) == event.Viewers && event.SubjectType(kind) == subject
	})}
}

// readableBy adds the condition that a reader who is no admin may read an event. It leaves out rows without an index,
// so the caller bounds how many are examined.
func (store *Store) readableBy(conditions *db.Conditions, by *identity.Actor) {
	if by == nil {
		return
	}
	text := `(actor_id = ? OR subject = ? OR type IN (` + forEveryone + `)`
	args := []any{by.User, string(by.User)}
	for _, templates := range store.hooks.Templates {
		visible := db.NewConditions(`TRUE`)
		templates.seenBy(visible, *by)
		text += ` OR type IN (` + templates.types + `) AND EXISTS (SELECT 1 FROM ` +
			templates.table + ` t WHERE t.id = events.subject AND t.workspace_id = events.workspace_id
			AND t.deleted_at = 0 AND ` + visible.SQL() + `)`
		args = append(args, visible.Args()...)
	}
	conditions.When(true, text+`)`, args...)
}
