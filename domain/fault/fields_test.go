package fault_test

import (
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/domain/fault"
)

func TestFields(t *testing.T) {
	var wrong fault.Fields
	if err := wrong.Err(); err != nil {
		t.Fatalf("no fields are an error: %v", err)
	}
	wrong.AddCharacters("/ok", "ä")
	wrong.AddCharacters("/nul", "a\x00")
	wrong.AddCharacters("/bytes", "\xff")
	if len(wrong) != 2 || wrong[0].Pointer != "/nul" || wrong[1].Code != "invalid_characters" ||
		!errors.Is(wrong.Err(), fault.ErrInvalid) {
		t.Errorf("fields = %+v", wrong)
	}
	for range 1000 {
		wrong.Add("/x", "too_long", "Too long.")
	}
	if len(wrong) != 500 {
		t.Errorf("%d fields, want 500", len(wrong))
	}
	f, ok := errors.AsType[*fault.Error](fault.InField("/a", "required", "Give it."))
	if want := (fault.Field{Pointer: "/a", Code: "required", Detail: "Give it."}); !ok || len(f.Fields) != 1 ||
		f.Fields[0] != want {
		t.Errorf("InField = %+v", f)
	}
}
