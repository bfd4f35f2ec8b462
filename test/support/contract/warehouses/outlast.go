package warehouses

import (
	"context"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/services"
)

// LongRows is how many rows of LongText the table of Outlast must have: more than all buffers on the way hold.
const (
	LongRows = 4000
	LongText = 500
)

// Outlast checks that the rows of a table arrive whole when they are still being sent after the time limit of the
// sign-in, to each of some targets, both directly and through an SSH server. The table has the columns n, a number, and
// note, a text.
func Outlast(
	t *testing.T, w ports.Warehouse, table connection.TableRef, targets map[string]func(*testing.T) ports.Target,
) {
	ssh := services.SSHForwarding(t)
	for name, target := range targets {
		recipient := target(t)
		t.Run(name, func(t *testing.T) { Outlasts(t, w, recipient, table) })
		t.Run(name+", through SSH", func(t *testing.T) {
			Outlasts(t, w, throughSSH(t, recipient.Credential.Kind(), ssh, recipient, nil), table)
		})
	}
}

// firstConnect is the first time limit of a sign-in that is tried. A machine that is too slow for it gets longer ones.
const firstConnect = 250 * time.Millisecond

// Outlasts is Outlast for one target. It runs in parallel with other tests.
func Outlasts(t *testing.T, w ports.Warehouse, target ports.Target, table connection.TableRef) {
	t.Parallel()
	target.Limits.Bytes = 64 << 20
	q := connection.RowsQuery{Table: table, Columns: []string{"n", "note"}, Limit: 2 * LongRows}
	for target.Limits.Connect = firstConnect; ; target.Limits.Connect *= 2 {
		read := 0
		err := w.Rows(t.Context(), target, q, func(b column.Batch) error {
			if read == 0 { // the session has begun, and its limit passes while rows are still to come
				limit, cancel := context.WithTimeout(t.Context(), target.Limits.Connect)
				defer cancel()
				<-limit.Done()
			}
			read += b.Rows.Len()
			return nil
		})
		if err != nil && read == 0 && target.Limits.Connect < proof.Patience/2 {
			continue // the sign-in took too long
		}
		if err != nil || read != LongRows {
			t.Errorf("%d of %d rows, %v", read, LongRows, err)
		}
		return
	}
}
