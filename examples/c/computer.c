/* SPDX-License-Identifier: Apache-2.0 */
/*
 * computer.c - a computer that this program makes: a grey screen with one lamp that a click
 * switches. The model sees the screen and clicks.
 *
 *	./computer "Switch the lamp on."
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thole/thole.h>

enum { WIDTH = 320, HEIGHT = 240, LAMP_X = 160, LAMP_Y = 120, LAMP_SIZE = 40 };

struct lamp {
	bool on;
	unsigned char pixels[HEIGHT][WIDTH][4]; /* red, green, blue, nothing */
};

static struct thole_error err;

static void check(int code)
{
	if (code == THOLE_OK)
		return;
	fprintf(stderr, "computer: %s\n", err.text);
	exit(1);
}

static bool on_lamp(long long x, long long y)
{
	return llabs(x - LAMP_X) <= LAMP_SIZE && llabs(y - LAMP_Y) <= LAMP_SIZE;
}

/* The screen as it is now. */
static void see(void *ctx, struct thole_call *call)
{
	struct lamp *lamp = ctx;

	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++) {
			memset(lamp->pixels[y][x], on_lamp(x, y) ? (lamp->on ? 255 : 0) : 128, 3);
			if (on_lamp(x, y) && lamp->on)
				lamp->pixels[y][x][2] = 0; /* yellow */
		}
	check(thole_call_pixels(call, lamp->pixels, WIDTH, HEIGHT, sizeof(lamp->pixels[0]), &err));
	check(thole_call_done(call, NULL, &err));
}

/* One action. What it cannot do, it says. */
static void act(void *ctx, struct thole_call *call)
{
	struct lamp *lamp = ctx;

	if (strcmp(thole_call_tool(call), "click") != 0) {
		check(thole_call_fail(call, "this computer has only a mouse", &err));
		return;
	}
	if (on_lamp(thole_call_integer(call, "x", -1000), thole_call_integer(call, "y", -1000)))
		lamp->on = !lamp->on;
	check(thole_call_done(call, NULL, &err));
}

int main(int argc, char **argv)
{
	static struct lamp lamp;
	struct thole_runtime *rt;
	struct thole_agent *agent;
	struct thole_session *session;

	check(thole_runtime_new(NULL, &rt, &err));
	check(thole_agent_new("janitor", &agent, &err));
	check(thole_agent_computer(agent, WIDTH, HEIGHT, see, act, &lamp, &err));
	check(thole_session_new(rt, agent, NULL, &session, &err));
	check(thole_session_run(session, argc > 1 ? argv[1] : "Switch the lamp on.", &err));
	printf("the lamp is %s: %s\n", lamp.on ? "on" : "off", thole_session_output(session));

	thole_session_free(session);
	thole_agent_free(agent);
	thole_runtime_free(rt);
	return lamp.on ? 0 : 1;
}
