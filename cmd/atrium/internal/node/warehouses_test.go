package node

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
)

func TestEveryKindThatIsDescribedIsReached(t *testing.T) {
	all := Warehouses(t.TempDir())
	// These have no child: newSandboxedReaders reaches them itself.
	all[connection.GoogleSheets], all[connection.Microsoft365] = nil, nil
	all[connection.OpenAICompatible], all[connection.ReplyEndpoint] = nil, nil
	for _, d := range connection.Kinds() {
		if _, exists := all[d.Kind]; !exists {
			t.Errorf("%s is described, and the program does not reach it", d.Kind)
		}
	}
	if len(all) != len(connection.Kinds()) {
		t.Errorf("%d kinds are reached, and %d described", len(all), len(connection.Kinds()))
	}
}
