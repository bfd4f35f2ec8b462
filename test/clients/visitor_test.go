package clients

import "testing"

// TestTheServerAcceptsTheVisitorsThatClientsSign runs each client's function for backends against one embed token.
func TestTheServerAcceptsTheVisitorsThatClientsSign(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite)
	inEach(t, func(t *testing.T, d driver) {
		s := w.connect(t, d)
		chat := s.must(t, command{Name: "chatTemplates.create", HasBody: true,
			Body: object{"name": newName(), "status": "published"}}).at(t, "id")
		token := s.must(t, command{Name: "chatTemplates.embedTokens.create", Args: []string{chat}, HasBody: true,
			Body: object{"name": "App", "allowed_origins": []string{"https://shop.example"}, "allow_no_origin": true}})
		sign := func(visitor, attributes string, lasts int64) string {
			r := d.do(t, command{Do: "visitor", Text: visitor, Name: attributes,
				Secrets: []string{token.at(t, "visitor_secret")}, Now: lasts}, nil)
			signature, _ := r.Value.(string)
			if signature == "" {
				t.Fatalf("%+v", r)
			}
			return signature
		}
		open := func(visitor, attributes, signature string) result {
			body := object{"token": token.at(t, "token"), "visitor": visitor, "visitor_signature": signature}
			if attributes != "" {
				body["visitor_attributes"] = attributes
			}
			return s.call(t, command{Name: "embed.createSession", HasBody: true, Body: body})
		}
		for visitor, attributes := range map[string]string{"customer-42": "", "Zoë 😀": `{"plan":"größer"}`} {
			openedResult := open(visitor, attributes, sign(visitor, attributes, 60))
			if openedResult.Error != nil {
				t.Fatalf("%s: %+v", visitor, openedResult.Error)
			}
			verifiedResult := s.must(t, command{Name: "embed.verifySession", HasBody: true,
				Body: object{"session": openedResult.at(t, "session")}})
			got := verifiedResult.Value.(object)
			if got["visitor"] != visitor || got["visitor_signed"] != true ||
				(got["visitor_attributes"] != nil) != (attributes != "") {
				t.Errorf("%s: %v", visitor, got)
			}
		}
		signature, attributes := sign("customer-42", "", 60), `{"plan":"max"}`
		for name, r := range map[string]result{
			"another visitor":  open("customer-43", "", signature),
			"cut off":          open("customer-42", "", signature[:len(signature)-1]),
			"in the past":      open("customer-42", "", sign("customer-42", "", -1)),
			"attributes":       open("customer-42", attributes, signature),
			"other attributes": open("customer-42", attributes, sign("customer-42", `{"plan":"pro"}`, 60)),
		} {
			if r.Error == nil || r.Error.Code != "visitor_signature_invalid" {
				t.Errorf("%s: %+v", name, r.Error)
			}
		}
	})
}
