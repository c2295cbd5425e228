package report

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed html
var assets embed.FS

// head is what the heads of all pages need.
type head struct {
	Policy string // content security policy
	Style  template.CSS
	Script template.JS // empty: the page has none
	Title  string
}

// newHead returns the head of a page, with the script or without one.
func newHead(title string, scripted bool) (head, error) {
	h := head{Title: title, Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'unsafe-inline'"}
	style, err := assets.ReadFile("html/style.css")
	if err != nil {
		return h, err
	}
	h.Style = template.CSS(style)
	if !scripted {
		return h, nil
	}
	script, err := assets.ReadFile("html/script.js")
	if err != nil {
		return h, err
	}
	sum := sha256.Sum256(script)
	h.Script = template.JS(script)
	h.Policy += fmt.Sprintf("; script-src 'sha256-%s'", base64.StdEncoding.EncodeToString(sum[:]))
	return h, nil
}

// render writes a page by the template of that name. A template folds a part away with
// {{fold "name" data}}: it stands there as it is, or, in a large page, compressed until
// the reader opens it, since a browser takes seconds for what nobody has asked for.
func render(w io.Writer, name string, data any, large bool) error {
	t := template.New(name)
	t.Funcs(template.FuncMap{"breaks": breaks, "fold": func(part string, data any) (template.HTML, error) {
		var b bytes.Buffer
		if err := t.ExecuteTemplate(&b, part, data); err != nil || !large {
			return template.HTML(b.String()), err
		}
		packed, err := packHTML(b.Bytes())
		return packed, err
	}})
	if _, err := t.ParseFS(assets, "html/*.html"); err != nil {
		return err
	}
	return t.Execute(w, data)
}

// breaks escapes a name, and lets its line break behind the signs that join its parts.
func breaks(name string) template.HTML {
	return template.HTML(strings.NewReplacer("_", "_<wbr>", ".", ".<wbr>", "/", "/<wbr>", "@", "@<wbr>").Replace(template.HTMLEscapeString(name)))
}

// packHTML returns markup as a script element that the page's script puts the markup in
// the place of. Without the script, a reader is told where else to look.
func packHTML(markup []byte) (template.HTML, error) {
	var b bytes.Buffer
	b.WriteString(`<script type="application/gzip">`)
	to64 := base64.NewEncoder(base64.StdEncoding, &b)
	z := gzip.NewWriter(to64)
	if _, err := z.Write(markup); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	if err := to64.Close(); err != nil {
		return "", err
	}
	b.WriteString(`</script>`)
	return template.HTML(b.String()), nil
}
