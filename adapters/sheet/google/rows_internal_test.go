package google

import (
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestAWorkspaceReadsRowsOnceAtATime(t *testing.T) {
	_, _, s, target := harness(t)
	target.Within, target.Location.HeaderRow = time.Minute, 1
	q := source.RowsQuery{Columns: []string{"Name"}, Exact: []bool{false}, Limit: 10}
	err := s.Rows(t.Context(), "wsp_1", target, q, func(column.Batch) error {
		err := s.Rows(t.Context(), "wsp_1", target, q, func(column.Batch) error { return nil })
		assert.ErrorIs(t, err, connection.ErrTooManyReads)
		return s.Rows(t.Context(), "wsp_2", target, q, func(column.Batch) error { return nil })
	})
	if err != nil {
		t.Errorf("another workspace: %v", err)
	}
	if err := s.Rows(t.Context(), "wsp_1", target, q, func(column.Batch) error { return nil }); err != nil {
		t.Errorf("the next read: %v", err)
	}
}

func TestFewWorkspacesReadRowsAtTheSameTime(t *testing.T) {
	var r readers
	for i := range maxReaders {
		if !r.enter(identity.WorkspaceID(fmt.Sprint(i))) {
			t.Fatalf("workspace %d cannot read", i)
		}
	}
	if r.enter("one more") {
		t.Error("there is no limit")
	}
	r.leave("0")
	if !r.enter("one more") {
		t.Error("a reader that has left still counts")
	}
}
