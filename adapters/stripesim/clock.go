package stripesim

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/atrium-hq/atrium/ports"
)

// settings are what an operator has set for the account.
type settings struct {
	Script
	Ahead  time.Duration `json:"ahead"`           // how far its clock is ahead
	Healed time.Time     `json:"healed,omitzero"` // when all failures were ended last
	Struck bool          `json:"struck"`          // whether the last trouble came after the effect of its call
}

// The settings are stored as the one object of a customer that does not exist.
const settingsRow = "settings"

func randomText() string { return rand.Text() }

func (s *Simulator) settingsOf(ctx context.Context) (settings, error) {
	rows, err := s.Objects.Read(ctx, s.Org, settingsRow)
	if err != nil {
		return settings{}, err
	}
	return readSettings(rows)
}

func readSettings(rows []ports.SandboxObject) (current settings, err error) {
	for _, row := range rows {
		err = json.Unmarshal(row.Body, &current)
	}
	return current, err
}

func (s *Simulator) set(ctx context.Context, change func(*settings)) error {
	return s.Objects.Change(ctx, s.Org, settingsRow, func(rows []ports.SandboxObject) ([]ports.SandboxObject, error) {
		current, err := readSettings(rows)
		if err != nil {
			return nil, err
		}
		change(&current)
		body, err := json.Marshal(current)
		return []ports.SandboxObject{{ID: settingsRow, Body: body}}, err
	})
}

// at returns the time of the account. Stripe's times are seconds.
func (s *Simulator) time(current settings) time.Time {
	return s.Clock().Add(current.Ahead).UTC().Truncate(time.Second)
}

// Now returns the time of the account.
func (s *Simulator) Now(ctx context.Context) (time.Time, error) {
	current, err := s.settingsOf(ctx)
	return s.time(current), err
}

// Advance moves the clock of the account forward and processes what has become due for all customers: renewals, ends of
// trials, expiry. It returns the account's time and the number of its customers.
func (s *Simulator) Advance(ctx context.Context, by time.Duration) (now time.Time, customers int, err error) {
	if by < 0 {
		return now, 0, fmt.Errorf("the clock of the sandbox can only go forward")
	}
	if err := s.set(ctx, func(c *settings) { c.Ahead += by }); err != nil {
		return now, 0, err
	}
	if now, err = s.Now(ctx); err != nil {
		return now, 0, err
	}
	err = s.all(ctx, func(customer string) error {
		if suffixOf(customer) == "" {
			return nil
		}
		customers++
		return s.look(ctx, customer, func(*account) error { return nil })
	})
	return now, customers, err
}

// Provoke makes the next calls fail, one after the other, and sets how events are delivered from now on. Without
// troubles, stored failures end, too.
func (s *Simulator) Provoke(ctx context.Context, script Script) error {
	now, err := s.Now(ctx)
	if err != nil {
		return err
	}
	return s.set(ctx, func(c *settings) {
		if c.Script, c.Struck = script, false; len(script.Troubles) == 0 {
			c.Healed = now
		}
	})
}
