package db

import (
	"maps"
	"reflect"

	"github.com/atrium-hq/atrium/domain/account"
)

// RememberMember remembers a membership as the database has it, until the transaction ends.
func (db *DB) RememberMember(w *account.Workspace, m account.Member) {
	t := db.tx
	if t == nil {
		return
	}
	if t.members == nil {
		t.members = map[memberKey]account.Member{}
	}
	m.Granted = maps.Clone(m.Granted) // which a change may write to
	m.Groups = 0                      // which is not stored with it
	t.members[memberKey{w.ID, m.User}] = m
}

// IsMemberStored reports whether the database has the membership as m is.
func (db *DB) IsMemberStored(w *account.Workspace, m account.Member) bool {
	t := db.tx
	if t == nil {
		return false
	}
	current, isKnown := t.members[memberKey{w.ID, m.User}]
	m.Groups = 0
	return isKnown && reflect.DeepEqual(current, m)
}
