package column

// Fitness returns how well values of a column's type fit a field's type: 1 for a perfect fit, less than
// MinScore if they cannot fit. A column of strings may be one without any values yet.
func Fitness(field, values Type) float64 {
	if field == values {
		return 1
	}
	if f, ok := fit[field][values]; ok {
		return f
	}
	return 0.4
}

var (
	writing = map[Type]float64{String: 1, Text: 1, Integer: 0.97, Number: 0.92, Enum: 1, JSON: 0.7, Date: 0.7,
		DateTime: 0.7, URL: 0.7, Email: 0.6, Boolean: 0.5}
	fit = map[Type]map[Type]float64{
		String:   writing,
		Text:     writing,
		Enum:     {String: 1, Text: 0.7, Integer: 0.95, Boolean: 0.95, Number: 0.6},
		Email:    {String: 0.95, Text: 0.7},
		URL:      {String: 0.95, Text: 0.7},
		JSON:     {String: 0.95, Text: 0.95},
		Integer:  {Number: 0.92, String: 0.92},
		Number:   {Integer: 1, String: 0.92},
		Boolean:  {Integer: 0.92, String: 0.92},
		Date:     {DateTime: 1, String: 0.92, Integer: 0.7},
		DateTime: {Date: 1, String: 0.92, Integer: 0.7},
	}
)
