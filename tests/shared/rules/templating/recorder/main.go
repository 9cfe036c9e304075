// What Go's text/template with sprig answers: reads lines {"template": …, …} and writes them with "text" or "error".
//
// Made with it, from this folder:
//
//	go run . < ../answers.jsonl > new.jsonl && mv new.jsonl ../answers.jsonl
//
// The data is that of test_answers.py; functions and option are those of NFD (pkg/apis/nfd/template, at 76e6cc8).
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

type line struct {
	Template string  `json:"template"`
	Text     *string `json:"text,omitempty"`
	Error    string  `json:"error,omitempty"`
}

func answer(source string, data any) (result line) {
	result.Template = source
	defer func() {
		if recover() != nil {
			result.Error = "execute"
		}
	}()
	functions := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	parsed, err := template.New("").Option("missingkey=error").Funcs(functions).Parse(source)
	if err != nil {
		result.Error = "parse"
		return result
	}
	var output bytes.Buffer
	if err := parsed.Execute(&output, data); err != nil {
		result.Error = "execute"
		return result
	}
	text := output.String()
	result.Text = &text
	return result
}

func main() {
	data := map[string]map[string][]map[string]string{
		"pci": {"device": {
			{"class": "0300", "vendor": "10de", "device": "2204", "numa": "0"},
			{"class": "0200", "vendor": "8086", "device": "1572", "numa": "1"},
		}},
		"cpu": {
			"cpuid": {{"Name": "AVX"}, {"Name": "AVX2"}},
			"m":     {{"Name": "a", "Value": "7"}, {"Name": "b", "Value": ""}},
		},
		"x-y": {"q.r": {}},
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked line
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(answer(asked.Template, data)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
