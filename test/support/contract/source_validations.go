package contract

import (
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func sourceValidations(t *testing.T, a Adapter) {
	ctx := t.Context()
	by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
	newSource := fixture.Source(t, a.Stores, by, fixture.SheetReading())
	system := identity.System(by.Org, by.Workspace, "test", fixture.At.Add(time.Hour))

	t.Run("a source has none at first", func(t *testing.T) {
		empty, err := a.SourceValidations.Validation(ctx, by.Workspace, newSource.ID)
		must(t, err)
		same(t, "validation", empty, &source.Validation{})
	})
	t.Run("UpdateValidation stores nothing of a change that fails", func(t *testing.T) {
		_, err := a.SourceValidations.UpdateValidation(ctx, by.Workspace, newSource.ID,
			func(v *source.Validation) error {
				v.State = source.ValidationQueued
				return errBoom
			})
		wantErr(t, err, errBoom)
		empty, err := a.SourceValidations.Validation(ctx, by.Workspace, newSource.ID)
		must(t, err)
		same(t, "validation", empty, &source.Validation{})
	})
	t.Run("UpdateValidation stores every field, and the recorded events", func(t *testing.T) {
		validation, err := a.SourceValidations.UpdateValidation(ctx, by.Workspace, newSource.ID,
			func(v *source.Validation) error {
				_, err := v.Request(by, newSource, &fixture.People, time.Minute)
				return err
			})
		must(t, err)
		got, err := a.SourceValidations.Validation(ctx, by.Workspace, newSource.ID)
		must(t, err)
		same(t, "validation", got, validation)
		endedValidation, err := a.SourceValidations.UpdateValidation(ctx, by.Workspace, newSource.ID,
			func(v *source.Validation) error {
				v.End(system, newSource, got.RequestedAt, source.ValidationResult{Rows: 1 << 33, Failing: 2,
					Fields: []source.FieldReport{
						{Field: "email", Empty: 3, Counts: map[column.Invalid]int{column.WrongType: 2, column.Missing: 1},
							First: []source.FailedValue{{Row: 7, Code: column.WrongType, Class: column.Date},
								{Row: 9, Code: column.Missing}}, Skipped: 4},
						{Field: "age"}}}, true, "")
				return nil
			})
		must(t, err)
		got, err = a.SourceValidations.Validation(ctx, by.Workspace, newSource.ID)
		must(t, err)
		same(t, "validation", got.Fields, endedValidation.Fields)
		if got.State != source.ValidationDone || got.Rows != 1<<33 || got.Failing != 2 || !got.Complete ||
			!got.EndedAt.Equal(system.At) {
			t.Errorf("%+v", got)
		}
		same(t, "events", kinds(eventsOn(t, a.Stores, by.Workspace, string(newSource.ID))),
			[]string{"source.validated", "source.attached"})
	})
	t.Run("other workspaces and orgs have no such source", func(t *testing.T) {
		for _, org := range a.Orgs[:2] {
			other := fixture.NewTeam(t, a.Stores, org).Member.Workspace
			_, err := a.SourceValidations.Validation(ctx, other, newSource.ID)
			wantErr(t, err, source.ErrNotFound)
			_, err = a.SourceValidations.UpdateValidation(ctx, other, newSource.ID, func(*source.Validation) error {
				t.Error("it was changed")
				return nil
			})
			wantErr(t, err, source.ErrNotFound)
		}
	})
	t.Run("changes of one source run one after another", func(t *testing.T) {
		previous, err := a.SourceValidations.Validation(ctx, by.Workspace, newSource.ID)
		must(t, err)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				_, err := a.SourceValidations.UpdateValidation(ctx, by.Workspace, newSource.ID,
					func(v *source.Validation) error {
						v.Rows++
						return nil
					})
				assert.NoError(t, err)
			})
		}
		all.Wait()
		current, err := a.SourceValidations.Validation(ctx, by.Workspace, newSource.ID)
		must(t, err)
		same(t, "rows", current.Rows, previous.Rows+4)
	})
	t.Run("a detached source loses its validation", func(t *testing.T) {
		_, err := a.Sources.Update(ctx, by.Workspace, newSource.ID,
			func(s *source.Source) error { return s.Detach(by, nil) })
		must(t, err)
		_, err = a.SourceValidations.Validation(ctx, by.Workspace, newSource.ID)
		wantErr(t, err, source.ErrNotFound)
	})
}
