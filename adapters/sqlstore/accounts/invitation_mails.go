package accounts

import (
	"context"
	"encoding/json"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// mailScopes returns the scopes in which mails are counted. Rows are locked in this order, after the workspace, so that
// two calls never deadlock.
func mailScopes(by identity.Actor, ws identity.WorkspaceID, email string) [3]string {
	return [3]string{
		"workspace " + string(ws),
		userScope(by.Org, by.User),
		addressScope(by.Org, email),
	}
}

// userScope returns the scope in which mails that a user sends are counted.
func userScope(org identity.OrgID, user identity.UserID) string {
	return "user " + string(org) + " " + string(user)
}

// addressScope returns the scope in which mails to an address are counted.
func addressScope(org identity.OrgID, email string) string {
	return "address " + string(org) + " " + account.Mailbox(email)
}

// mailsKept is the time for which a mail is counted: the longest window of account.MailLimits.
const mailsKept = 24 * time.Hour

// lockMails reads and locks the times of sent mails. Other invitations that count in one of the same scopes wait.
func (store *Store) lockMails(ctx context.Context, by identity.Actor, ws identity.WorkspaceID, email string,
	target *account.Sent) error {
	counts := [3]*[]time.Time{&target.Workspace, &target.User, &target.Address}
	for i, scope := range mailScopes(by, ws, email) {
		times, err := store.lockMailTimes(ctx, scope, by.At)
		if err != nil {
			return err
		}
		*counts[i] = append(*counts[i], times...)
	}
	return nil
}

// lockMailed locks a scope, and decodes the mails that were sent in it into target.
func (store *Store) lockMailed(ctx context.Context, scope string, now time.Time, target any) error {
	var text string
	if _, err := store.Get(ctx, &text, `INSERT INTO invitation_mails (scope, sent, last_at) VALUES (?, '[]', ?)
		ON CONFLICT (scope) DO UPDATE SET last_at = excluded.last_at
		RETURNING sent`, scope, db.Micros(now)); err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), target)
}

// lockMailTimes reads and locks the times of sent mails in a scope.
func (store *Store) lockMailTimes(ctx context.Context, scope string, now time.Time) ([]time.Time, error) {
	var micros []int64
	if err := store.lockMailed(ctx, scope, now, &micros); err != nil {
		return nil, err
	}
	times := make([]time.Time, len(micros))
	for i, m := range micros {
		times[i] = db.FromMicros(m)
	}
	return times, nil
}

// saveMails stores the times that lockMails read, and the times that an invitation added.
func (store *Store) saveMails(ctx context.Context, by identity.Actor, ws identity.WorkspaceID, email string,
	mails account.Sent) error {
	counts := [3][]time.Time{mails.Workspace, mails.User, mails.Address}
	for i, scope := range mailScopes(by, ws, email) {
		if err := store.saveMailTimes(ctx, scope, counts[i]); err != nil {
			return err
		}
	}
	return nil
}

// saveMailTimes stores the times of sent mails in a scope that lockMailTimes has locked.
func (store *Store) saveMailTimes(ctx context.Context, scope string, times []time.Time) error {
	micros := make([]int64, len(times))
	for i, t := range times {
		micros[i] = db.Micros(t)
	}
	return store.saveMailed(ctx, scope, micros)
}

// saveMailed stores the mails sent in a scope that lockMailed has locked.
func (store *Store) saveMailed(ctx context.Context, scope string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = store.Exec(ctx, `UPDATE invitation_mails SET sent = ? WHERE scope = ?`, string(text), scope)
	return err
}
