// SPDX-License-Identifier: GPL-2.0-only
/* The trivial program of `tipme bench run exec`, linked statically or dynamically. */
int main(void)
{
	return 0;
}
