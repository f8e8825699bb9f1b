// SPDX-License-Identifier: GPL-2.0-only
/* libFuzzer: any bytes as a message; its text as a user's words, and as JSON. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Half of the inputs get a head that is right, or the text would hardly ever be reached. */
static size_t give_head(uint8_t *to, const uint8_t *data, size_t len)
{
	struct tipme_message head = { .magic = TIPME_MESSAGE_MAGIC,
				      .version = 1,
				      .verb = TIPME_VERB_TRIGGER,
				      .text_len = (uint32_t)len };

	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), data, len);
	return len + sizeof(head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len + sizeof(struct tipme_message));
	struct tipme_incoming in;
	struct tipme_text text;
	char words[97], json[200];

	if (!copy)
		return 0;
	if (len && data[0] & 1)
		len = give_head(copy, data, len);
	else if (len)
		memcpy(copy, data, len);
	if (!tipme_message_parse(copy, len, &in)) {
		size_t n = tipme_text_clean(words, sizeof(words), in.text, in.text_len);

		if (n >= sizeof(words) || words[n] || strlen(words) != n)
			abort();
		tipme_text_init(&text, json, sizeof(json));
		tipme_text_add_json(&text, words);
		if (text.len >= sizeof(json) || json[text.len])
			abort();
	}
	free(copy);
	return 0;
}
