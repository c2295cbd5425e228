package report

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

// TestContrast holds all pairs of text and ground of both colour schemes to the contrast
// that WCAG 2.2 asks of text, 4.5.
func TestContrast(t *testing.T) {
	css, err := assets.ReadFile("html/style.css")
	if err != nil {
		t.Fatal(err)
	}
	light, rest, ok := strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("no dark scheme in style.css")
	}
	dark, _, _ := strings.Cut(rest, "\n}\n")
	for name, block := range map[string]string{"light": light, "dark": dark} {
		colors := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]+);`).FindAllStringSubmatch(block, -1) {
			colors[m[1]] = m[2]
		}
		grounds := []string{"bg", "card", "soft"}
		pairs := map[string][]string{
			"text": {"bg", "card", "soft", "w1", "w2", "w3", "w4", "w5", "b1", "b2", "b3", "b4", "b5"},
			"dim":  grounds, "link": grounds, "worse-text": grounds, "better-text": grounds, "doubt": grounds,
		}
		for text, grounds := range pairs {
			for _, ground := range grounds {
				if c := contrast(t, colors[text], colors[ground]); c < 4.5 {
					t.Errorf("%s: %s %s on %s %s has contrast %.2f, want at least 4.5", name, text, colors[text], ground, colors[ground], c)
				}
			}
		}
		for _, mark := range []string{"worse", "better"} { // of graphics: 3
			if c := contrast(t, colors[mark], colors["card"]); c < 3 {
				t.Errorf("%s: %s on card has contrast %.2f, want at least 3", name, mark, c)
			}
		}
	}
}

// contrast is the ratio of WCAG 2.2: (L1+0.05)/(L2+0.05) of relative luminances.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 4 {
		hex = "#" + strings.Repeat(hex[1:2], 2) + strings.Repeat(hex[2:3], 2) + strings.Repeat(hex[3:4], 2)
	}
	var rgb [3]int
	if _, err := fmt.Sscanf(hex, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
		t.Fatalf("color %q: %v", hex, err)
	}
	var l float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := float64(rgb[i]) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		l += weight * c
	}
	return l
}
