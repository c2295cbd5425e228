package compare

func (j *judge) footnotes() []string { return nil }
