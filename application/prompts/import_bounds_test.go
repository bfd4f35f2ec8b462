package prompts_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// importIncluding imports prompts that each include the same others, and returns the error, and how many were stored.
func importIncluding(t *testing.T, prompts, others, size int) (stored int, err error) {
	s := newMocked(t)
	reading, other := rules(strings.Repeat("x", size))
	included := func(id prompt.ID) (*prompt.Reading, *prompt.Version, error) {
		r, v := *reading, *other
		r.ID, v.Template = id, id
		return &r, &v, nil
	}
	s.prompts.EXPECT().Add(gomock.Any(), gomock.Any()).AnyTimes()
	s.prompts.EXPECT().AddVersion(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.Actor, id prompt.ID,
			add func(*prompt.Template, prompt.Labels) (*prompt.Version, error)) error {
			of := template()
			of.ID = id
			_, err := add(of, nil)
			return err
		})
	s.prompts.EXPECT().SetIncludes(gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().Do(
		func(context.Context, identity.Actor, *prompt.Version) { stored++ })
	s.prompts.EXPECT().GetVersionByName(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.Actor, name string, _ prompt.Ref) (*prompt.Reading, *prompt.Version, error) {
			if !strings.HasPrefix(name, "other") {
				return nil, nil, prompt.ErrNotFound
			}
			return included(prompt.ID(name))
		})
	s.prompts.EXPECT().GetVersion(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(
			_ context.Context, _ identity.Actor, id prompt.ID, _ prompt.Ref,
		) (*prompt.Reading, *prompt.Version, error) {
			return included(id)
		})
	var text strings.Builder
	for i := range others {
		fmt.Fprintf(&text, "{{> other%d}}\n", i)
	}
	all := make([]prompt.Imported, prompts)
	for i := range all {
		all[i] = imported(fmt.Sprintf("p%d", i), text.String())
	}
	_, err = s.Import(s.ctx, owner, all, prompt.Importing{})
	return stored, err
}

func TestAnImportIncludesEightMiBAtMost(t *testing.T) {
	for name, tt := range map[string]struct {
		prompts, others, size int
		want                  error
		stored                int
	}{
		"many prompts that share a short text": {500, 1, 1000, nil, 500},
		"a few prompts with long texts":        {30, 10, 25_000, nil, 30},
		"many prompts with long texts":         {40, 10, 25_000, prompt.ErrIncludeTooLarge, 33},
		"many prompts with many short texts":   {170, 50, 1, prompt.ErrIncludeTooLarge, 163},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.size > 1000 { // each megabyte is hashed, which takes long beside the race detector
				proof.Only(t)
			}
			stored, err := importIncluding(t, tt.prompts, tt.others, tt.size)
			require.ErrorIs(t, err, tt.want)
			assert.Equal(t, "prompts were expanded", stored, tt.stored)
		})
	}
}

// dense is a text that takes long to check.
var dense = strings.Repeat("{{a}} ", proof.Sample(400, 40_000))

func TestTextsOfManyVersionsAreCheckedBeforeTheTransaction(t *testing.T) {
	var limit time.Duration
	storing := func(t *testing.T) *mockedService {
		s := newMocked(t)
		limit = 0
		s.prompts.EXPECT().Add(gomock.Any(), gomock.Any()).AnyTimes()
		s.prompts.EXPECT().AddVersion(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
			func(_ context.Context, _ identity.Actor, _ prompt.ID,
				add func(*prompt.Template, prompt.Labels) (*prompt.Version, error)) error {
				start := time.Now()
				_, err := add(template(), nil)
				limit += time.Since(start)
				return err
			})
		return s
	}
	isShort := func(t *testing.T, start time.Time, err error) {
		t.Helper()
		require.NoError(t, err)
		proof.Within(t, "what is in the transaction", limit, time.Since(start)/4)
	}
	t.Run("of an import", func(t *testing.T) {
		s := storing(t)
		s.prompts.EXPECT().GetVersionByName(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().Return(
			nil, nil, prompt.ErrNotFound)
		all := make([]prompt.Imported, 10)
		for i := range all {
			all[i] = imported(fmt.Sprintf("p%d", i), dense)
		}
		start := time.Now()
		_, err := s.Import(s.ctx, owner, all, prompt.Importing{})
		isShort(t, start, err)
	})
	t.Run("of a copy", func(t *testing.T) {
		s := storing(t)
		of := template()
		of.Active = prompt.Active{Version: "ver1", Number: 1}
		v := version(1)
		v.CreatedBy, v.Content = "ann", prompt.Content{Text: dense, Format: prompt.Mustache,
			Variables: []prompt.Variable{{Name: "a", Type: "string"}}}
		s.prompts.EXPECT().Get(s.ctx, owner, prompt.ID("tpl")).Return(of, nil)
		s.expectGetVersion(owner, prompt.Ref{Active: true}, v)
		s.users.EXPECT().Get(s.ctx, owner.Org, owner.User).Return(&account.User{}, nil, nil)
		start := time.Now()
		_, _, err := s.Copy(s.ctx, owner, "tpl", prompt.Copying{Latest: true})
		isShort(t, start, err)
	})
}
