package sources_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/source"
)

func TestRename(t *testing.T) {
	t.Run("the source has another name", func(t *testing.T) {
		s, src := newEnv(t), stored(t, table)
		s.expectUpdate(src)
		got, err := s.Rename(s.ctx, owner, "src", revision.Match{1}, "Customers")
		wantErr(t, err, nil)
		if got.Source.Name != "Customers" || src.Name != "Customers" {
			t.Errorf("Rename = %q, stored %q", got.Source.Name, src.Name)
		}
	})
	t.Run("another member changes nothing", func(t *testing.T) {
		s := newEnv(t)
		s.expectUpdate(stored(t, table))
		_, err := s.Rename(s.ctx, peer, "src", nil, "Mine")
		wantErr(t, err, source.ErrForbidden)
	})
}
