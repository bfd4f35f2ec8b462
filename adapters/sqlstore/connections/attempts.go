package connections

import (
	"context"
	"encoding/hex"
	"encoding/json"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Attempt implements ports.Connections. Rows are locked in one order, workspace first, so that two
// calls never wait for each other.
func (s *Connections) Attempt(ctx context.Context, by identity.Actor, e connection.Effort, target connection.Target,
	admit func(*connection.Counts) error) error {
	prefix, address := "", hex.EncodeToString(target[:]) // where older versions count the workspace's probes
	if e != connection.Probing {
		prefix = string(e) + " "
	}
	var counts connection.Counts
	type scope struct {
		name     string
		attempts *connection.Attempts
	}
	scopes := []scope{
		{prefix + "workspace " + string(by.Workspace), &counts.Workspace},
		{prefix + "workspace " + string(by.Workspace) + " target " + address, &counts.Target},
	}
	if e == connection.Probing {
		scopes = append(scopes, scope{"failed target " + address, &counts.Failed})
	}
	return s.db.inTx(ctx, func(tx *Store) error {
		for _, scope := range scopes {
			var err error
			if *scope.attempts, err = tx.lockedAttempts(ctx, scope.name); err != nil {
				return err
			}
		}
		if err := admit(&counts); err != nil {
			return err
		}
		for _, scope := range scopes {
			times := make([]int64, len(*scope.attempts))
			for j, attempt := range *scope.attempts {
				times[j] = db.Micros(attempt)
			}
			text, err := json.Marshal(times)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `UPDATE probe_attempts SET attempts = ?, last_at = ? WHERE scope = ?`,
				string(text), db.Micros(by.At), scope.name); err != nil {
				return err
			}
		}
		return nil
	})
}

// lockedAttempts locks and reads a scope's attempts. A missing row is created first, so that it can be locked.
func (store *Store) lockedAttempts(ctx context.Context, scope string) (connection.Attempts, error) {
	if _, err := store.Exec(ctx, `INSERT INTO probe_attempts (scope, attempts, last_at) VALUES (?, '[]', 0)
		ON CONFLICT (scope) DO NOTHING`, scope); err != nil {
		return nil, err
	}
	var text []byte
	if _, err := store.Get(ctx, &text, `SELECT t.attempts FROM probe_attempts t WHERE t.scope = ?`+store.Dialect.Lock,
		scope); err != nil {
		return nil, err
	}
	var times []int64
	if err := json.Unmarshal(text, &times); err != nil {
		return nil, err
	}
	attempts := make(connection.Attempts, len(times))
	for i, micros := range times {
		attempts[i] = db.FromMicros(micros)
	}
	return attempts, nil
}
