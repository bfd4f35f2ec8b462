package xlsx

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

func textsOf(t *testing.T, items string) *texts {
	t.Helper()
	all, err := newTexts(xml.NewDecoder(strings.NewReader("<sst>"+items+"</sst>")), 1<<20)
	require.NoError(t, err)
	return all
}

// at returns a text that must be there.
func (t *texts) at(test *testing.T, i int) string {
	test.Helper()
	text, err := t.text(i)
	require.NoError(test, err)
	return text
}

func TestSharedTextsAreThoseOfTheFile(t *testing.T) {
	var items strings.Builder
	const n = 10_000
	want := func(i int) string { return strings.Repeat(fmt.Sprint("text ", i, " é "), i%40) }
	for i := range n {
		_, _ = fmt.Fprintf(&items, `<si><r><t xml:space="preserve">%s</t></r><rPh><t>not this</t></rPh><phoneticPr/></si>`, want(i))
	}
	items.WriteString(`<si/><si><t>_x000D__x000a_end</t></si>`)
	all := textsOf(t, items.String())
	for all.count < n+2 {
		require.NoError(t, all.next())
		for _, i := range []int{all.count - 1, all.count / 2, 0} {
			if got := all.at(t, i); i < n && got != want(i) {
				t.Fatalf("text %d is %q of %d", i, got, all.count)
			}
		}
	}
	for i := range n {
		if got := all.at(t, i); got != want(i) {
			t.Fatalf("text %d is %q, want %q", i, got, want(i))
		}
	}
	if all.at(t, n) != "" || all.at(t, n+1) != "\nend" {
		t.Errorf("the last ones are %q and %q", all.at(t, n), all.at(t, n+1))
	}
	if err := all.next(); err != nil || !all.ended {
		t.Errorf("ended %v, %v", all.ended, err)
	}
}

func TestMoreSharedTextsThanFitAreSaidAsSuch(t *testing.T) {
	all := textsOf(t, "")
	noise := make([]byte, 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for range maxTable>>20 + 1 {
		if err := all.add(string(noise)); err != nil {
			if !errors.Is(err, source.ErrOutOfMemory) || all.count < 80 {
				t.Errorf("after %d MiB: %v", all.count, err)
			}
			return
		}
	}
	t.Error("there is no limit")
}
