package stripeapi

import "time"

// OpenInvoices returns the ids of a customer's invoices that can still be paid.
func (s *Server) OpenInvoices(customer string) (ids []string) {
	for _, i := range read[object](s, customer, "in") {
		if i.Status == "open" {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

// PackInvoice is a paid invoice for credit packs.
type PackInvoice struct {
	Key    string // of the call that has sold them
	PaidAt time.Time
}

// PackInvoices returns the paid invoices of a customer for credit packs, by their ids.
func (s *Server) PackInvoices(customer string) map[string]PackInvoice {
	all := map[string]PackInvoice{}
	for _, i := range read[object](s, customer, "in") {
		if i.Status == "paid" && i.Metadata["atrium_pack"] != "" {
			all[i.ID] = PackInvoice{i.Metadata["atrium_key"], i.PaidAt}
		}
	}
	return all
}
