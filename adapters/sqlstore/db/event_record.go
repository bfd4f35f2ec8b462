package db

import (
	"context"
	"encoding/json"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/ports"
)

// Record writes what an aggregate recorded, in the transaction that saves the aggregate. Link of package events makes
// the events part of a chain later.
func (db *DB) Record(ctx context.Context, events []event.Event) error {
	writes, err := db.EventWrites(events)
	if err != nil || len(writes) == 0 {
		return err
	}
	rows := make([][]any, len(writes))
	for i, w := range writes {
		rows[i] = w.Args
	}
	return db.WriteRows(ctx, writes[0].Query, "", rows)
}

// RecordedColumns are the columns of an event that is recorded, in the order of its values.
const RecordedColumns = `id, org_id, workspace_id, type, actor_id, key_id, session_id, subject, data, created_at,
	request_id, address, signature, revision`

// Signed events are written to a table without indexes, from which Link of package events moves them; others get no
// place.
const (
	recordSigned   = `INSERT INTO new_events (` + RecordedColumns + recordedValues
	recordUnsigned = `INSERT INTO events (` + RecordedColumns + recordedValues
	recordedValues = `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// EventWrites returns the writes that record does.
func (db *DB) EventWrites(events []event.Event) ([]Write, error) {
	d := db.Digester()
	writes := make([]Write, len(events))
	for i, e := range events {
		db.DeclareChange(e.Workspace)
		data, err := json.Marshal(e.Data)
		if err != nil {
			return nil, err
		}
		query, signature := recordUnsigned, []byte(nil)
		if d != nil {
			query, signature = recordSigned, event.Sign(d, &e, data)
		}
		writes[i] = Write{query,
			[]any{e.ID, e.Org, e.Workspace, e.Type, e.Actor, e.Key, e.Session, e.Subject, string(data), Micros(e.At),
				e.Request.ID, e.Request.Address, signature, e.Revision}}
	}
	return writes, nil
}

// SignEvents makes db sign events from now on, with the keys of d. Without it they have no signature.
func (db *DB) SignEvents(d ports.Digester) { db.digest.Store(&d) }

// Digester returns the keyed hash of SignEvents; nil without it.
func (db *DB) Digester() event.Digest {
	if d := db.digest.Load(); d != nil {
		return (*d).Digest
	}
	return nil
}

// HaveChainsBegun reports whether this process knows that the database stores when chains began.
func (db *DB) HaveChainsBegun() bool { return db.chainsBegun.Load() }

// NoteChains remembers that the database stores when chains began.
func (db *DB) NoteChains() { db.chainsBegun.Store(true) }

// NoteLinks notes that the transaction links events, so that its commit leaves no event to link.
func (db *DB) NoteLinks() { db.tx.links = true }
