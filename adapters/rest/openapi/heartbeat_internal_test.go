package openapi

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestAPlainHeartbeatIsDecodedAsByEncodingJSON decodes random heartbeats that have passed the check.
func TestAPlainHeartbeatIsDecodedAsByEncodingJSON(t *testing.T) {
	contract, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	beat, _ := contract.Operation("POST", "/api/presence")
	decoded := 0
	for range 20_000 {
		body := []byte(randomBody(beat.plain()))
		if beat.CheckBody(body) != nil {
			continue
		}
		got := Heartbeat{UserID: "before"}
		if !got.DecodePlain(body) {
			if got != (Heartbeat{UserID: "before"}) {
				t.Errorf("%s changed the heartbeat", body)
			}
			continue
		}
		decoded++
		var want Heartbeat
		if err := json.Unmarshal(body, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v: %+v, want %+v", body, err, got, want)
		}
	}
	if decoded == 0 {
		t.Error("no heartbeat was decoded")
	}
}

func TestAnUnusualHeartbeatIsLeftToEncodingJSON(t *testing.T) {
	for _, body := range []string{
		``, `null`, `[]`, `{"device_id":"\u0061"}`, `{"device_id":"é"}`, `{"device_id":null}`, `{"status":"dnd"}`,
		`{"text":"Tea"}`, `{"manual_until":null}`, `{"other":1}`, `{"ttl_seconds":3e1}`, `{"ttl_seconds":"30"}`, `{} x`,
	} {
		if h := new(Heartbeat); h.DecodePlain([]byte(body)) || *h != (Heartbeat{}) {
			t.Errorf("%s was decoded", body)
		}
	}
}

func TestAUsualHeartbeatIsDecodedWithTheAllocationOfItsDevice(t *testing.T) {
	body := []byte(`{"device_id":"web-1","device_kind":"web","activity":"idle","ttl_seconds":90}`)
	h := new(Heartbeat)
	if n := testing.AllocsPerRun(100, func() {
		if !h.DecodePlain(body) {
			t.Error("it was not decoded")
		}
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}
