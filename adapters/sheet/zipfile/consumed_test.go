package zipfile_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sheet/zipfile"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// memory is a document that zeroes what it forgets.
type memory struct {
	*bytes.Reader
	text      []byte
	forgotten int64
}

func (m *memory) Forget(from, to int64) {
	clear(m.text[from:to])
	m.forgotten += to - from
}

func TestAPartIsForgottenWhileItIsReadForTheLastTime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := func() string {
		text := make([]byte, 300_000)
		for i := range text {
			text[i] = byte('a' + random.IntN(26))
		}
		return "<a>" + string(text) + "</a>"
	}
	first, second := noise(), noise()
	text := fixture.Zipped(t, [2]string{"first", first}, [2]string{"second", second}, [2]string{"last", "<a/>"})
	m := &memory{Reader: bytes.NewReader(text), text: text}
	pack, err := zipfile.OpenWhole(m, int64(len(text)))
	require.NoError(t, err)
	fullText := func(open func(string, int64) (io.ReadCloser, error), name string) string {
		t.Helper()
		r, err := open(name, 1<<20)
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return string(got)
	}
	for _, secondCount := range []int{1, 2} {
		if fullText(pack.Part, "first") != first || m.forgotten != 0 {
			t.Errorf("time %d: the part differs, or %d bytes are forgotten", secondCount, m.forgotten)
		}
	}
	if fullText(pack.LastPart, "first") != first || m.forgotten < 100_000 {
		t.Errorf("the part differs, or only %d bytes are forgotten", m.forgotten)
	}
	if fullText(pack.LastPart, "second") != second || fullText(pack.Part, "last") != "<a/>" {
		t.Error("the parts after it differ")
	}
}
