package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// presenceColumns are the columns of a presence without those that differ between copies.
const presenceColumns = `org_id, lasting_status, lasting_text, lasting_emoji, passing_status, passing_text, passing_emoji,
	passing_until, claimed_at, active_at, seen_at, life, deleted`

// TestASnapshotOfManyPresencesIsStreamed reads the state of an org of 100,000 people (fewer in make test). The server
// holds one page of it at a time.
func TestASnapshotOfManyPresencesIsStreamed(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		people := proof.Sample(3_000, 100_000)
		d := deployMigrated(t, engine, set("metrics.addr", "127.0.0.1:0"))
		first := d.start(t)
		operator := first.user(t, "viewer", "--operator")
		operator.create(t, presences, object{"text": strings.Repeat("a long day ", 8)})
		first.stop(t)
		if engine == postgres { // the copies belong to no user
			d.sql(t, `ALTER TABLE presences DROP CONSTRAINT presences_user_id_fkey`)
		}
		d.sql(t, fmt.Sprintf(`INSERT INTO presences (id, user_id, seq, devices, shown, due_at, %[1]s)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %[2]d)
			SELECT substr(id, 1, 20) || CAST(1000000000 + n.i AS TEXT),
				substr(user_id, 1, 20) || CAST(1000000000 + n.i AS TEXT), seq + n.i, '[]', 'offline', 0, %[1]s
			FROM presences, n`, presenceColumns, people-1))
		d.sql(t, `UPDATE presence_seqs SET seq = (SELECT MAX(seq) FROM presences)`)
		operator = operator.at(d.start(t))
		operator.get(t, "/api/me")
		previous, begin := operator.server.heap(t), time.Now()
		e := operator.stream(t, "")
		seen, bytes, largest := 0, 0, 0
		for hasMore := true; hasMore; {
			line, ok := <-e.lines
			if !ok {
				t.Fatalf("the stream ended after %d presences", seen)
			}
			data, isData := strings.CutPrefix(line, "data: ")
			var batch struct {
				Data []struct{} `json:"data"`
				More *bool      `json:"more"`
			}
			if !isData {
				continue
			}
			require.NoError(t, json.Unmarshal([]byte(data), &batch))
			if seen, bytes = seen+len(batch.Data), bytes+len(data); len(batch.Data) > 500 {
				t.Fatalf("an event has %d presences", len(batch.Data))
			}
			largest = max(largest, operator.server.heap(t))
			hasMore = batch.More != nil && *batch.More
		}
		grown := largest - previous
		t.Logf("%d presences, %d KiB, in %s; the heap grew by %d KiB", seen, bytes>>10,
			time.Since(begin).Round(time.Millisecond), grown>>10)
		if seen < people {
			t.Errorf("%d of %d presences were sent", seen, people)
		}
		// The collector lets the heap of a small server grow by 40 MiB. All of 100,000 presences would be 150 MiB.
		if grown > mostGrowth {
			t.Errorf("the heap grew by %d MiB", grown>>20)
		}
	})
}
