package accounts

import (
	"strconv"
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
)

func TestNumbersInMemoryAreBounded(t *testing.T) {
	var s counts
	for i := range maxCounts + 10 {
		s.put(identity.WorkspaceID(strconv.Itoa(i)), count{n: i})
	}
	if len(s.byWorkspace) > maxCounts {
		t.Errorf("%d numbers are held", len(s.byWorkspace))
	}
}
