package stripesim

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
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

// clockRow is where the settings of a customer's own clock are stored, likewise. Only Ahead is used of them.
func clockRow(customer string) string { return customer + " clock" }

// settingsOf returns the settings, with the clock of a customer; "" for the account's.
func (s *Simulator) settingsOf(ctx context.Context, customer string) (current settings, err error) {
	rows, err := s.Objects.Read(ctx, s.Org, settingsRow)
	if err == nil {
		current, err = readSettings(rows)
	}
	if err != nil || customer == "" {
		return current, err
	}
	if rows, err = s.Objects.Read(ctx, s.Org, clockRow(customer)); err != nil {
		return current, err
	}
	clock, err := readSettings(rows)
	current.Ahead += clock.Ahead
	return current, err
}

func readSettings(rows []ports.SandboxObject) (current settings, err error) {
	for _, row := range rows {
		err = json.Unmarshal(row.Body, &current)
	}
	return current, err
}

// set changes the settings in a row.
func (s *Simulator) set(ctx context.Context, row string, change func(*settings)) error {
	return s.Objects.Change(ctx, s.Org, row, func(rows []ports.SandboxObject) ([]ports.SandboxObject, error) {
		current, err := readSettings(rows)
		if err != nil {
			return nil, err
		}
		change(&current)
		body, err := json.Marshal(current)
		return []ports.SandboxObject{{ID: settingsRow, Body: body}}, err
	})
}

// time returns the time of settings. Stripe's times are seconds.
func (s *Simulator) time(current settings) time.Time {
	return s.Clock().Add(current.Ahead).UTC().Truncate(time.Second)
}

// Now returns a customer's time, or the account's if the customer is "".
func (s *Simulator) Now(ctx context.Context, c payment.CustomerID) (time.Time, error) {
	current, err := s.settingsOf(ctx, string(c))
	return s.time(current), err
}

// Advance implements ports.SandboxPayer: each customer has a clock, as with Stripe's test clocks
// (https://docs.stripe.com/billing/testing/test-clocks).
func (s *Simulator) Advance(ctx context.Context, c payment.CustomerID, target time.Time) (time.Time, error) {
	process := func(act func(*account)) error {
		return s.look(ctx, string(c), func(a *account) error {
			act(a)
			return nil
		})
	}
	if err := process(func(a *account) {
		if next := a.next(); next != nil && next.due.Before(target) {
			target = next.due
		}
	}); err != nil {
		return time.Time{}, err
	}
	ofAccount, err := s.settingsOf(ctx, "")
	if err == nil {
		err = s.set(ctx, clockRow(string(c)), func(clock *settings) {
			clock.Ahead = max(clock.Ahead, target.Sub(s.time(ofAccount)))
		})
	}
	if err != nil {
		return time.Time{}, err
	}
	return target, process(func(*account) {})
}

// AdvanceAll moves the clocks of all customers forward and processes what has become due: renewals, ends of trials,
// expiry. It returns the account's time and the number of its customers.
func (s *Simulator) AdvanceAll(ctx context.Context, by time.Duration) (now time.Time, customers int, err error) {
	if by < 0 {
		return now, 0, fmt.Errorf("the clock of the sandbox can only go forward")
	}
	if err := s.set(ctx, settingsRow, func(c *settings) { c.Ahead += by }); err != nil {
		return now, 0, err
	}
	if now, err = s.Now(ctx, ""); err != nil {
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
	now, err := s.Now(ctx, "")
	if err != nil {
		return err
	}
	return s.set(ctx, settingsRow, func(c *settings) {
		if c.Script, c.Struck = script, false; len(script.Troubles) == 0 {
			c.Healed = now
		}
	})
}
